// A gripper with deformable bubbles lifts dough.

#include "tests/scenes/zong2024/particles.h"

namespace pliant::physics {
namespace {

constexpr double kLift = 0.12;    // of the gripper [m]
constexpr double kWeight = 5.02;  // of the dough [N]

double LowestOf(const World& world) {
  double lowest = 1;
  for (const Eigen::Vector3d& p : ParticlesOf(world, "dough")) lowest = std::min(lowest, p.z());
  return lowest;
}

// The bubbles press with ten times the force that friction needs, so that the dough does not slip.
// It sinks as they shear under W / 2 each: stiffness G A / L with a shear modulus of 19 kPa, a
// contact of 20 to 30 cm² and a height of 37 mm gives 1.6 to 2.4 mm. The dough rose as it was
// pressed, so that they were sheared the other way before.
TEST(DoughBubble, LiftsTheDoughByFriction) {
  World world = LoadShipped("dough_bubble");
  RunUntil(0.8, &world);
  const double start = Read(world, "dough").at(2), volume = ReadNumber(world, "volume");
  EXPECT_GT(Read(world, "grip").at(0), kWeight);
  RunUntil(1.5, &world);
  const double lifted = Read(world, "dough").at(2);
  EXPECT_NEAR(lifted - start, kLift, 0.005);
  EXPECT_GT(LowestOf(world), 0.1);
  EXPECT_EQ(Read(world, "table").at(2), 0);

  // held while it is shaken, and at rest afterwards
  RunUntil(2.8, &world);
  EXPECT_NEAR(Read(world, "dough").at(2), lifted, 2e-4);
  EXPECT_NEAR(Read(world, "dough").at(1), 0, 2e-4);
  EXPECT_NEAR(Read(world, "support").at(2), kWeight, 0.01 * kWeight);
  EXPECT_NEAR(ReadNumber(world, "volume") / volume, 1, 0.02);
  EXPECT_EQ(FindParts(ParticlesOf(world, "dough"), 0.016).size(), 1u);

  // both give way: the bubbles deform, and the dough keeps the dents
  EXPECT_GT(ReadNumber(world, "bubble"), 0.1);
  EXPECT_GT(ReadNumber(world, "plastic"), 0.1);
}

TEST(DoughBubble, LeavesItOnTheTableWithLittleFriction) {
  World world = LoadShipped("dough_bubble", {"contact.friction=0.02"});
  RunUntil(1.5, &world);
  EXPECT_LT(Read(world, "dough").at(2), 0.045);
  EXPECT_NEAR(Read(world, "table").at(2), kWeight, 0.01 * kWeight);
}

}  // namespace
}  // namespace pliant::physics
