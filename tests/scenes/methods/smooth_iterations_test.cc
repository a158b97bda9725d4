// Iterations of the smooth method in scenes whose contacts begin to stick and to slip. With the
// direction of friction in place of FrictionDual they are two to four times as many.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

double CalcMeanIterations(World world, int steps) {
  double sum = 0;
  for (int k = 0; k < steps; ++k) {
    const absl::Status status = world.Step();
    EXPECT_TRUE(status.ok() && world.report().converged) << status.message();
    sum += world.report().iterations;
  }
  return sum / steps;
}

TEST(SmoothIterations, AreFewForAFallingHumanoid) {
  // 7.3, and 19.7 otherwise
  EXPECT_LT(CalcMeanIterations(LoadShipped("humanoid", {}, "smooth"), 100), 10);
}

TEST(SmoothIterations, AreFewForATennisBallAtAWall) {
  // 12.3 in two stages, and 38.9 otherwise
  EXPECT_LT(CalcMeanIterations(LoadShipped("tennis_ball"), 12), 16);
}

}  // namespace
}  // namespace pliant::physics
