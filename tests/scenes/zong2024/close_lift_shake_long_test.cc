// Panels lift and shake a heavy cube between light soft ones (zong2024 §VII-E).

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

TEST(CloseLiftShake, HoldsTheHeavyCube) {
  World world = LoadShipped("close_lift_shake");
  RunUntil(0.5, &world);
  const auto height = [&] { return Read(world, "heavy").at(2) - ReadNumber(world, "carriage"); };
  const double held = height();
  RunUntil(3.5, &world);
  EXPECT_NEAR(height(), held, 1e-3);
  EXPECT_GT(Read(world, "heavy").at(2), 0.2);
}

TEST(CloseLiftShake, DropsItWithLittleFriction) {
  World world = LoadShipped("close_lift_shake", {"contact.friction=0.1"});
  RunUntil(2, &world);
  EXPECT_LT(Read(world, "heavy").at(2), 0.06);
}

}  // namespace
}  // namespace pliant::physics
