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

// Energy that a stretched bar without damping keeps after half a second [of what it began with].
double CalcEnergyLeft(const std::string& integrator, double h) {
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
  while (world.state().time < 0.5 - 1e-9) EXPECT_TRUE(world.Step().ok());
  return energy() / start;
}

TEST(DampedMidpoint, LosesASixthOfTheEnergyThatImplicitEulerLoses) {
  // rates of decay: 2 (θ − ½) ω² h to leading order, for each mode
  const double h = 2e-4;
  const double euler = 1 - CalcEnergyLeft("IMPLICIT_EULER", h),
               damped = 1 - CalcEnergyLeft("DAMPED_MIDPOINT", h),
               midpoint = 1 - CalcEnergyLeft("MIDPOINT", h);
  EXPECT_LT(std::abs(midpoint), 0.01 * euler);
  EXPECT_NEAR(damped / euler, 1.0 / 6, 0.05);
}

}  // namespace
}  // namespace pliant::physics
