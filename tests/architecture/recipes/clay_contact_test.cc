// The body of docs/extending.md, "A body", collides with bodies that also touch by points: another
// of its kind, and particles. No external force acts, so momentum is conserved.

#include <string>

#include <gtest/gtest.h>

#include "tests/architecture/recipes/clay_scene.h"
#include "tests/execute_on_threads.h"

namespace pliant {
namespace {

using physics::World;

// Relative; the error of the momentum is that of the solution of a step, at most 1e-5.
constexpr double kMomentumError = 1e-4;

// The diameter of the contact balls is the edge length of the mesh, so none fits between others.
constexpr char kLump[] = R"(
    custom:
      kind: CLAY
      mesh: {box: {size: [0.12, 0.12, 0.12]}, edge_length: 0.03}
      density: 1500
      parameters: {cell_size: 0.06, bulk_modulus: 2.0e4, yield: 0.5}
)";

// Two lumps of 2.6 kg, whose contact balls are 3 cm apart, approach each other at 1 m/s, slightly
// off centre.
std::string TwoLumps(const std::string& method) {
  return "time_step: 0.002\ngravity: [0, 0, 0]\nmethod: {" + method + "}\nbodies:\n  - name: left" +
         kLump + R"(
      pose: {position: [-0.09, 0, 0]}
      velocity: {linear: [0.5, 0, 0]}
  - name: right)" +
         kLump + R"(
      pose: {position: [0.09, 0.004, -0.003]}
      velocity: {linear: [-0.5, 0, 0]}
probes:
  - {name: left, position: {body: left}}
  - {name: right, position: {body: right}}
  - {name: momentum, momentum: {}}
)";
}

class ClayLumps : public ::testing::TestWithParam<const char*> {};

TEST_P(ClayLumps, DoNotPassThroughEachOther) {
  World world = LoadWorld(TwoLumps(GetParam()));
  // their centres would meet after 0.18 s
  StepTo(150, &world);
  EXPECT_GT(Probe(world, "right"), Probe(world, "left") + 0.06);
  const double momentum = 0.5 * 0.12 * 0.12 * 0.12 * 1500;  // of each at the start
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(Probe(world, "momentum", k), 0, kMomentumError * momentum) << k;
}

INSTANTIATE_TEST_SUITE_P(Methods, ClayLumps,
                         ::testing::Values("convex: {}", "corrective: {}", "nonsmooth: {}"));

TEST(ClayContact, TwoLumpsAreTheSameBitsForOneAndTwoThreads) {
  const auto run = [](int threads) {
    return ExecuteOnThreads(threads, [] {
      World world = LoadWorld(TwoLumps("convex: {}"));
      StepTo(60, &world);
      return HashState(world.state());
    });
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(ClayContact, ALumpDoesNotPassThroughParticles) {
  World world = LoadWorld(
      R"(
time_step: 0.002
gravity: [0, 0, 0]
grid: {cell_size: 0.04}
bodies:
  - name: dough
    particles:
      fill: {box: {size: [0.2, 0.2, 0.08]}}
      material: {model: VON_MISES, youngs_modulus: 1.0e5, poissons_ratio: 0.4, yield_stress: 1.0e4,
          density: 1000}
  - name: lump)" +
      std::string(kLump) + R"(
      pose: {position: [0, 0, 0.13]}
      velocity: {linear: [0, 0, -0.5]}
probes:
  - {name: dough, position: {body: dough}}
  - {name: lump, position: {body: lump}}
  - {name: momentum, momentum: {}}
)");
  const double momentum = Probe(world, "momentum", 2);
  EXPECT_NEAR(momentum, -0.5 * 0.12 * 0.12 * 0.12 * 1500, 1e-9);
  // its centre would pass that of the dough, at rest, after 0.26 s
  StepTo(150, &world);
  EXPECT_GT(Probe(world, "lump", 2), Probe(world, "dough", 2) + 0.05);
  EXPECT_LT(Probe(world, "dough", 2), -0.01);
  EXPECT_NEAR(Probe(world, "momentum", 2), momentum, kMomentumError * -momentum);
}

}  // namespace
}  // namespace pliant
