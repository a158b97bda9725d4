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

// A pin rolls over dough by friction alone, and leaves it as high as its lower side. It sinks in by
// more than its radius and pushes dough ahead, so that it turns by 0.68 of its travel / radius.
TEST(DoughRolling, TurnsThePinByFriction) {
  World world = LoadShipped("dough_rolling");
  const double volume = ReadNumber(world, "volume");
  RunUntil(0.6, &world);
  const double turned = ReadNumber(world, "turned"), travel = ReadNumber(world, "travel");
  RunUntil(1.6, &world);
  const double rolled = (ReadNumber(world, "travel") - travel) / 0.03;
  EXPECT_GT(rolled, 4);
  EXPECT_GT(std::abs(ReadNumber(world, "turned") - turned), 0.6 * rolled);
  EXPECT_NEAR(ReadNumber(world, "volume") / volume, 1, 0.01);
  double top = 0;
  for (const Vector3d& p : ParticlesOf(world, "dough"))
    if (std::abs(p.x()) < 0.02 && std::abs(p.y()) < 0.03) top = std::max(top, p.z());
  EXPECT_NEAR(top, 0.06, 0.018 / 4);
}

TEST(DoughRolling, DoesNotTurnThePinWithoutFriction) {
  World world = LoadShipped("dough_rolling", {"contact.friction=0"});
  RunUntil(1.2, &world);
  EXPECT_LT(std::abs(ReadNumber(world, "turned")), 0.1);
}

}  // namespace
}  // namespace pliant::physics
