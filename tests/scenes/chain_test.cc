#include "tests/scenes/chain_links.h"

namespace pliant::physics {
namespace {

TEST(Chain, LinkingNumbersTellLinkedFromUnlinkedRings) {
  const auto ring = [](const Eigen::Vector3d& center, const Eigen::Vector3d& x,
                       const Eigen::Vector3d& y) {
    std::vector<Eigen::Vector3d> line;
    for (int i = 0; i < 12; ++i)
      line.push_back(center + std::cos(i * kPi / 6 + 0.1) * x + std::sin(i * kPi / 6 + 0.1) * y);
    return line;
  };
  const Eigen::Vector3d X(1, 0, 0), Y(0, 1, 0), Z(0, 0, 1);
  const auto a = ring({0, 0, 0}, X, Y);
  EXPECT_EQ(std::abs(CalcLinkingNumber(a, ring({1, 0, 0}, X, Z))), 1);
  EXPECT_EQ(CalcLinkingNumber(a, ring({3, 0, 0}, X, Z)), 0);
  EXPECT_EQ(CalcLinkingNumber(a, ring({0, 0, 0}, 0.3 * X, 0.3 * Z)), 0);  // in and out again
}

// The hook carries the weight of all links once the initial wave has decayed, and they stay linked.
TEST(Chain, HangsLinkedFromItsHook) {
  World world = LoadShipped("chain");
  RunUntil(1, &world);
  ExpectLinked(world, 10);
  double mass = 0;
  for (const auto& block : world.model().blocks) mass += block->mass(0);
  RunUntil(4, &world);
  ExpectLinked(world, 10);
  EXPECT_NEAR(Read(world, "load")[2], mass * kGravity, 0.02 * mass * kGravity);
}

}  // namespace
}  // namespace pliant::physics
