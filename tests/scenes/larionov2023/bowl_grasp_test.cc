// Three pads lift a bowl by implicit friction (larionov2023 §V-A2).

#include "tests/scenes/larionov2023/bowl_grasp.h"

namespace pliant::physics {
namespace {

TEST(BowlGrasp, HoldsByFrictionFivePercentAboveTheMinimum) {
  World world = LoadShipped("bowl_grasp");
  EXPECT_LT(std::abs(CalcSlip(0.45, &world)), 1e-3);
}

}  // namespace
}  // namespace pliant::physics
