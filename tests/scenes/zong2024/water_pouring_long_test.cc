// A hand pours water from a mug (zong2024 §VII-D).

#include "tests/scenes/zong2024/particles.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A hand pours water of either stiffness into a bin; none is lost on the way.
class WaterPouring : public testing::TestWithParam<double> {};

TEST_P(WaterPouring, EndsInTheBin) {
  World world = LoadShipped(
      "water_pouring", {absl::StrCat("bodies[4].particles.material.bulk_modulus=", GetParam())});
  const double mass = 1000 * kPi * 0.049 * 0.049 * 0.162;
  RunUntil(2, &world);
  EXPECT_EQ(ReadNumber(world, "poured"), 0);
  // the hand holds the mug: its centre of mass stays at the palm
  EXPECT_LT((Eigen::Map<const Vector3d>(Read(world, "mug").data()) -
             Eigen::Map<const Vector3d>(Read(world, "palm").data()))
                .norm(),
            0.085);
  RunUntil(5, &world);
  EXPECT_GT(ReadNumber(world, "poured"), 0.95 * mass);
  for (const Vector3d& p : ParticlesOf(world, "water")) {
    EXPECT_GT(p.z(), 0);
    EXPECT_LT((p - Vector3d(0.78, 0.2, 0.2)).norm(), 0.6);
  }
}

INSTANTIATE_TEST_SUITE_P(Stiffness, WaterPouring, testing::Values(100, 2e5),
                         [](const auto& info) { return info.param < 1e3 ? "Soft" : "Stiff"; });

}  // namespace
}  // namespace pliant::physics
