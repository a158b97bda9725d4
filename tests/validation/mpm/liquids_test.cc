// A liquid of particles at rest.

#include <algorithm>
#include <cmath>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kCell = 0.025;
constexpr int kWater = 1;  // body

// A column of water of 3 × 3 × 4 cells in a tank whose walls lie `offset` cells off the planes of
// grid nodes.
World LoadTank(double offset) {
  const double half = 1.5 * kCell, center = half + offset * kCell;
  return LoadWorld(Fill(R"(
name: tank
time_step: 0.01
grid: {cell_size: 0.025}
contact: {friction: 0}
bodies:
  - name: tank
    rigid:
      motion: FIXED
      shapes:
        - {half_space: {}, pose: {position: [0, 0, $FLOOR]}}
        - {box: {size: [0.05, 0.4, 0.4]}, pose: {position: [$LOW, $C, 0.1]}}
        - {box: {size: [0.05, 0.4, 0.4]}, pose: {position: [$HIGH, $C, 0.1]}}
        - {box: {size: [0.4, 0.05, 0.4]}, pose: {position: [$C, $LOW, 0.1]}}
        - {box: {size: [0.4, 0.05, 0.4]}, pose: {position: [$C, $HIGH, 0.1]}}
  - name: water
    particles:
      fill: {box: {size: [0.075, 0.075, 0.1]}}
      pose: {position: [$C, $C, $Z]}
      material: {model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, density: 1000}
probes:
  - {name: center, position: {body: water}}
)",
                        {{"$FLOOR", Number(offset * kCell)},
                         {"$LOW", Number(center - half - 0.025)},
                         {"$HIGH", Number(center + half + 0.025)},
                         {"$C", Number(center)},
                         {"$Z", Number(0.05 + offset * kCell)}}));
}

class LiquidAtRest : public testing::TestWithParam<double> {};

INSTANTIATE_TEST_SUITE_P(WallsOffTheGrid, LiquidAtRest, testing::Values(0.0, 0.25, 0.5));

// The forces of the walls and the pressure are in equilibrium on the grid. With contact forces at
// the particles themselves, those beside the walls fell by 30 mm in this time.
TEST_P(LiquidAtRest, StandsBesideWalls) {
  World world = LoadTank(GetParam());
  const std::vector<double> start = world.state().q;
  ASSERT_NO_FATAL_FAILURE(RunUntil(0.1, &world));
  double farthest = 0;
  for (std::size_t i = 0; i < start.size(); ++i)
    farthest = std::max(farthest, std::abs(world.state().q[i] - start[i]));
  EXPECT_LT(farthest, 0.003);
}

// The liquid keeps its volume and comes to rest, because its particles stay apart.
TEST_P(LiquidAtRest, KeepsItsVolumeAndIsStill) {
  World world = LoadTank(GetParam());
  ASSERT_NO_FATAL_FAILURE(RunUntil(1, &world));
  double squares = 0;
  for (int step = 0; step < 100; ++step) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_NEAR(ReadVector(world, "center").z() - GetParam() * kCell, 0.05, 0.05 * 0.05)
        << "at " << world.state().time << " s";
    for (const double v : world.state().v) squares += v * v;
  }
  const int count = 3 * 3 * 4 * 8;
  EXPECT_LT(std::sqrt(squares / (100 * count)), 0.02);
  const std::vector<double>& q = world.state().q;
  const int first = world.model().position_offsets[world.model().bodies[kWater].block];
  double nearest = 1;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      double distance2 = 0;
      for (int r = 0; r < 3; ++r) {
        const double d = q[first + 3 * i + r] - q[first + 3 * j + r];
        distance2 += d * d;
      }
      nearest = std::min(nearest, std::sqrt(distance2));
    }
  }
  EXPECT_GT(nearest, 0.5 * kCell / 2);
}

}  // namespace
}  // namespace pliant::physics
