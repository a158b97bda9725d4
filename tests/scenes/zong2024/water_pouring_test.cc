// A hand grasps and lifts a mug with little water (zong2024 §VII-D).

#include "tests/scenes/zong2024/particles.h"

namespace pliant::physics {
namespace {

TEST(WaterPouring, HandLiftsTheMug) {
  World world =
      LoadShipped("water_pouring", {"bodies[4].particles.fill.cylinder.length=0.02",
                                    "bodies[4].particles.pose.position=[0.78, 0, 0.221]"});
  const double start = Read(world, "mug").at(2);
  RunUntil(1.6, &world);
  EXPECT_GT(Read(world, "mug").at(2), start + 0.13);
  for (const Eigen::Vector3d& p : ParticlesOf(world, "water")) EXPECT_GT(p.z(), 0.33);
}

}  // namespace
}  // namespace pliant::physics
