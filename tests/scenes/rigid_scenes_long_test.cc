// Piles and arches that stand for minutes. Sleeping is off, since sleeping bodies cannot creep.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Largest displacement of any body since `before` [m].
double MeasureLargestMove(const World& world, const State& before) {
  double largest = 0;
  for (int b = 0; b < static_cast<int>(world.model().bodies.size()); ++b) {
    const Vector3d p = CalcBodyPose(world.model(), world.state(), b).p;
    largest = std::max(largest, (p - CalcBodyPose(world.model(), before, b).p).norm());
  }
  return largest;
}

TEST(TablePile, StandsStillForAMinute) {
  World world = LoadShipped("table_pile", {"sleeping=false"});
  RunUntil(12, &world);  // it has come to rest
  const State at_rest = world.state();
  RunUntil(60, &world);
  // anchored friction does not creep: nanometres a second at most
  EXPECT_LT(MeasureLargestMove(world, at_rest), 48 * 1e-9);
  const double weight = 54 * 4.7 * kGravity;
  EXPECT_NEAR(ReadVector(world, "weight").z(), -weight, 1e-5 * weight);
}

TEST(Arch, StandsForTenMinutes) {
  World world = LoadShipped("arch", {"sleeping=false"});
  RunUntil(10, &world);
  const State at_rest = world.state();
  RunUntil(600, &world);
  EXPECT_LT(MeasureLargestMove(world, at_rest), 590 * 1e-9);
}

}  // namespace
}  // namespace pliant::physics
