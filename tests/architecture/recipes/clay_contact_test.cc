// The body of docs/extending.md, "A body", against others that collide by points: another of its
// kind, and particles.

#include <string>

#include <gtest/gtest.h>

#include "tests/architecture/recipes/clay_scene.h"
#include "tests/execute_on_threads.h"

namespace pliant {
namespace {

using physics::World;

constexpr char kSlab[] = R"(
  - name: slab
    rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.1]}, pose: {position: [0, 0, -0.05]}}]}
)";
constexpr char kMaterial[] = R"(
      density: 1500
      parameters: {cell_size: 0.04, bulk_modulus: 2.0e4, yield: 0.02}
)";

// A lump of 0.12 m that falls from 2 cm onto another, slightly turned.
std::string TwoLumps(const std::string& method) {
  return "time_step: 0.002\nmethod: {" + method + "}\nbodies:" + kSlab + R"(
  - name: lower
    custom:
      kind: CLAY
      mesh: {box: {size: [0.12, 0.12, 0.12]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.072]}
)" + kMaterial +
         R"(
  - name: upper
    custom:
      kind: CLAY
      mesh: {box: {size: [0.08, 0.08, 0.08]}, edge_length: 0.03}
      pose: {position: [0.004, -0.003, 0.21], rpy_degrees: [0, 0, 20]}
)" + kMaterial +
         R"(
probes:
  - {name: lower, position: {body: lower}}
  - {name: upper, position: {body: upper}}
  - {name: between, contact_force: {body: upper, with: lower}}
  - {name: slab, contact_force: {body: slab, with: lower}}
)";
}

class ClayLumps : public ::testing::TestWithParam<const char*> {};

TEST_P(ClayLumps, LieOnEachOther) {
  World world = LoadWorld(TwoLumps(GetParam()));
  StepTo(300, &world);
  EXPECT_GT(Probe(world, "upper", 2), Probe(world, "lower", 2) + 0.06);
  // weights of 0.12³ · 1500 and 0.08³ · 1500 kg, averaged over what still moves
  double between = 0, slab = 0;
  for (int step = 301; step <= 400; ++step) {
    StepTo(step, &world);
    between += 0.01 * Probe(world, "between", 2);
    slab += 0.01 * Probe(world, "slab", 2);
  }
  EXPECT_NEAR(between, 0.768 * 9.81, 0.1 * 0.768 * 9.81);
  EXPECT_NEAR(-slab, (2.592 + 0.768) * 9.81, 0.1 * 33);
}

INSTANTIATE_TEST_SUITE_P(Methods, ClayLumps,
                         ::testing::Values("convex: {}", "corrective: {}", "nonsmooth: {}"));

TEST(ClayContact, TwoLumpsAreTheSameBitsForOneAndTwoThreads) {
  const auto run = [](int threads) {
    return ExecuteOnThreads(threads, [] {
      World world = LoadWorld(TwoLumps("convex: {}"));
      StepTo(100, &world);
      return HashState(world.state());
    });
  };
  EXPECT_EQ(run(1), run(2));
}

// A lump falls on dough, which it would pass through in 0.2 s.
TEST(ClayContact, ALumpRestsOnParticles) {
  World world =
      LoadWorld("time_step: 0.002\nmethod: {convex: {}}\ngrid: {cell_size: 0.04}\nbodies:" +
                std::string(kSlab) + R"(
  - name: dough
    particles:
      fill: {box: {size: [0.2, 0.2, 0.08]}}
      pose: {position: [0, 0, 0.041]}
      material: {model: VON_MISES, youngs_modulus: 1.0e5, poissons_ratio: 0.4, yield_stress: 1.0e4,
          density: 1000}
  - name: lump
    custom:
      kind: CLAY
      mesh: {box: {size: [0.08, 0.08, 0.08]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.14]}
)" + kMaterial + R"(
probes:
  - {name: lump, position: {body: lump}}
  - {name: force, contact_force: {body: lump, with: dough}}
)");
  StepTo(150, &world);
  EXPECT_GT(Probe(world, "lump", 2), 0.1);
  double force = 0;
  for (int step = 151; step <= 250; ++step) {
    StepTo(step, &world);
    force += 0.01 * Probe(world, "force", 2);
  }
  EXPECT_NEAR(force, 0.768 * 9.81, 0.15 * 0.768 * 9.81);
}

}  // namespace
}  // namespace pliant
