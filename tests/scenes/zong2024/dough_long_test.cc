// Dough is torn by two arms, and rolled (zong2024 §VII-B and C).

#include "tests/scenes/zong2024/particles.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Two arms tear a dough: the parts that they hold have nearly all of it.
TEST(DoughTearing, LeavesTwoParts) {
  World world = LoadShipped("dough_tearing");
  const double volume = ReadNumber(world, "volume");
  RunUntil(2.2, &world);
  const std::vector<double> parts = FindParts(ParticlesOf(world, "dough"), 0.01);
  ASSERT_GE(parts.size(), 2u);
  EXPECT_GT(parts[0] + parts[1], 0.9);
  EXPECT_GT(parts[1], 0.1);
  EXPECT_NEAR(ReadNumber(world, "volume") / volume, 1, 0.01);
}

TEST(DoughTearing, StretchesWhatDoesNotYield) {
  World world = LoadShipped("dough_tearing", {"bodies[1].particles.material.yield_stress=1.0e9"});
  RunUntil(2.0, &world);
  EXPECT_EQ(FindParts(ParticlesOf(world, "dough"), 0.0225).size(), 1u);
}

// Two arms roll a pin over dough, forth and back and deeper each time, and friction alone turns it.
// A pass that thins dough from h₀ to h₁ moves it ahead by up to 1 − h₁/h₀ of the travel, since its
// volume stays. The pin turns by about h₁/h₀ of its travel / radius: 0.90, 0.89, 0.91, 0.88, 0.95.
TEST(DoughRolling, TurnsThePinByFriction) {
  // with an override, because the fingers are thin for the grid and `check` says so
  World world = LoadShipped("dough_rolling", {"pairs[0].friction=1"});
  const double volume = ReadNumber(world, "volume");
  double rolled = 0, turned = 0;
  for (int pass = 0; pass < 5; ++pass) {
    RunUntil(0.4 + 0.7 * pass, &world);
    const double x = ReadNumber(world, "pin"), angle = ReadNumber(world, "turned");
    RunUntil(1.05 + 0.7 * pass, &world);
    const double path = (ReadNumber(world, "pin") - x) / 0.03;
    EXPECT_GT(std::abs(path), 5) << pass;
    EXPECT_GT((ReadNumber(world, "turned") - angle) / path, 0.85) << pass;
    rolled += std::abs(path);
    turned += std::abs(ReadNumber(world, "turned") - angle);
  }
  EXPECT_GT(turned, 0.9 * rolled);
  EXPECT_LT(turned, rolled);
  EXPECT_NEAR(ReadNumber(world, "volume") / volume, 1, 0.01);

  // the dough is as high as the pin's lower side
  double top = 0;
  for (const Vector3d& p : ParticlesOf(world, "dough"))
    if (std::abs(p.x()) < 0.02 && std::abs(p.y()) < 0.03) top = std::max(top, p.z());
  EXPECT_NEAR(top, Read(world, "pin").at(2) - 0.03, 0.018 / 4);
}

TEST(DoughRolling, DoesNotTurnThePinWithoutFriction) {
  World world = LoadShipped("dough_rolling", {"pairs[0].friction=0"});
  RunUntil(1.05, &world);
  EXPECT_GT(ReadNumber(world, "pin"), 0.07);
  EXPECT_LT(std::abs(ReadNumber(world, "turned")), 0.1);
}

}  // namespace
}  // namespace pliant::physics
