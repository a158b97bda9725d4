// docs/extending.md, "An integrator": built with docs/examples/damped_midpoint.cc and its line in
// the registry, and nothing else changed.

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::physics {
namespace {

// Rate at which a bent bar without damping loses energy, over a tenth of a second [1/s].
double CalcDecay(const std::string& integrator, double h) {
  const SceneResult scene = LoadSceneYaml(R"(
gravity: [0, 0, 0]
time_step: )" + std::to_string(h) + R"(
method: {convex: {integrator: )" + integrator +
                                              R"(}}
bodies:
  - name: bar
    deformable:
      mesh: {box: {size: [0.4, 0.1, 0.1]}, edge_length: 0.1}
      velocity: {angular: [0, 3, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0}
      attachments:
        - to: world
          within: {box: {size: [0.01, 1, 1], pose: {position: [-0.2, 0, 0]}}}
)",
                                          "bar.yaml");
  EXPECT_TRUE(scene.ok()) << (scene.messages.empty() ? "" : scene.messages[0].message);
  World world(scene.model);
  const auto energy = [&] {
    const Energies now = CalcEnergies(world.model(), world.state(), -1);
    return now.kinetic + now.elastic;
  };
  const double start = energy();
  while (world.state().time < 0.1 - 1e-9) EXPECT_TRUE(world.Step().ok());
  return -10 * std::log(energy() / start);
}

TEST(DampedMidpoint, LosesEnergyASixthAsFastAsImplicitEuler) {
  // a mode of frequency ω loses 2 (θ − ½) ω² h to leading order in h
  const double h = 2e-5;
  const double euler = CalcDecay("IMPLICIT_EULER", h), damped = CalcDecay("DAMPED_MIDPOINT", h),
               midpoint = CalcDecay("MIDPOINT", h);
  EXPECT_LT(std::abs(midpoint), 0.01 * euler);
  EXPECT_NEAR(damped / euler, 1.0 / 6, 0.05);
}

}  // namespace
}  // namespace pliant::physics
