// Bodies of more particles than a factorisation pays for: their systems are solved by conjugate
// gradients, the contact problem's for all nodes of the grid.

#include "oneapi/tbb/global_control.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kStep = 0.004;  // [s]
constexpr int kCube = 1;         // body

// A cube of 14³ cells, without a start velocity, `gap` above the ground.
std::string Cube(const std::string& material, double gap) {
  return Fill(R"(
name: cube
time_step: $STEP
sleeping: false
grid: {cell_size: 0.01}
contact: {friction: 0.5}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    particles:
      fill: {box: {size: [0.14, 0.14, 0.14]}}
      pose: {position: [0, 0, $HEIGHT]}
      material: $MATERIAL
probes:
  - {name: center, position: {body: cube}}
  - {name: ground, wrench: {body: cube}}
)",
              {{"$STEP", Number(kStep)}, {"$MATERIAL", material}, {"$HEIGHT", Number(0.07 + gap)}});
}

constexpr char kDough[] =
    "{model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.45, "
    "yield_stress: 500, density: 1000}";
constexpr char kWater[] =
    "{model: LIQUID, bulk_modulus: 2.0e4, gamma: 7, viscosity: 0.001, density: 1000}";

class LargeBodies : public testing::TestWithParam<const char*> {};

TEST_P(LargeBodies, FallByGravityAlone) {
  World world = LoadWorld(Cube(GetParam(), 1));
  const double z0 = ReadVector(world, "center").z();
  for (int n = 0; n < 3; ++n) ASSERT_TRUE(world.Step().ok());
  const double t = 3 * kStep;
  EXPECT_NEAR(ReadVector(world, "center").z() - z0, -0.5 * kGravity * t * (t + kStep), 1e-10);
  EXPECT_LE(world.report().residual, 1e-6);
}

TEST_P(LargeBodies, LandWithTheSameBitsForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism,
                                        threads);
    World world = LoadWorld(Cube(GetParam(), 0));
    const double mass = 1000 * 0.14 * 0.14 * 0.14;
    const int block = world.model().bodies[kCube].block;
    const auto momentum = [&] {
      const BlockState state = world.model().StateOf(world.state(), block);
      return world.model().blocks[block]->CalcMomentum(state, DynamicsBlock::kWholeBlock)[2];
    };
    double before = momentum();
    for (int n = 0; n < 3; ++n) {
      EXPECT_TRUE(world.Step().ok());
      EXPECT_TRUE(world.report().converged);
      EXPECT_LE(world.report().residual, 1e-6);
      EXPECT_GT(world.report().contacts.size(), 500u);
      // the ground's force changes the momentum of the whole body
      const double after = momentum(), force = ReadVector(world, "ground").z();
      EXPECT_NEAR(force, (after - before) / kStep + mass * kGravity, 1e-3 * mass * kGravity);
      before = after;
    }
    return HashState(world.state());
  };
  EXPECT_EQ(run(1), run(2));
}

INSTANTIATE_TEST_SUITE_P(Of, LargeBodies, testing::Values(kDough, kWater),
                         [](const auto& info) { return info.index == 0 ? "Dough" : "Water"; });

}  // namespace
}  // namespace pliant::physics
