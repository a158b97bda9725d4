#include <string>
#include <tuple>

#include "tests/validation/contact/falling_body.h"

namespace pliant::physics {
namespace {

using ImpactCase = std::tuple<std::string, int, double, double>;

class Impact : public ::testing::TestWithParam<ImpactCase> {};

// For all phases and more kinds of ground see impact_long_test.cc.
TEST_P(Impact, NeitherOverlapsNorRebounds) {
  const auto& [method, index, speed, h] = GetParam();
  constexpr int kPhases = 9;
  for (const std::string ground : {kHalfSpaceGround, kBoxGround})
    TestImpacts(method, kFallingBodies[index], ground, speed, h, kPhases);
}

std::string NameOf(const ::testing::TestParamInfo<ImpactCase>& info) {
  const auto& [method, index, speed, h] = info.param;
  return method + kFallingBodies[index].name + std::to_string(static_cast<int>(10 * speed)) + "In" +
         std::to_string(static_cast<int>(1e3 * h));
}

INSTANTIATE_TEST_SUITE_P(Methods, Impact,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Range(0, 4),
                                            ::testing::Values(0.1, 1.0, 3.0, 10.0, 20.0),
                                            ::testing::Values(0.001, 0.005, 0.01, 0.02)),
                         NameOf);

using SoftImpactCase = std::tuple<std::string, double, double>;

class SoftImpact : public ::testing::TestWithParam<SoftImpactCase> {};

TEST_P(SoftImpact, StaysAboveTheGround) {
  const auto& [method, speed, h] = GetParam();
  constexpr int kPhases = 9;
  for (const std::string ground : {kHalfSpaceGround, kBoxGround})
    TestSoftImpacts(method, kFallingSoftBodies[0], ground, speed, h, kPhases);
}

std::string NameOfSoft(const ::testing::TestParamInfo<SoftImpactCase>& info) {
  const auto& [method, speed, h] = info.param;
  return method + std::to_string(static_cast<int>(10 * speed)) + "In" +
         std::to_string(static_cast<int>(1e3 * h));
}

INSTANTIATE_TEST_SUITE_P(Methods, SoftImpact,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Values(0.1, 1.0, 3.0, 10.0, 20.0),
                                            ::testing::Values(0.001, 0.005, 0.01)),
                         NameOfSoft);

class Overlap : public ::testing::TestWithParam<std::string> {};

// A cube that starts 20 mm deep is lifted at the recovery speed, and rests when it is out.
TEST_P(Overlap, IsRemovedWithoutAddingVelocity) {
  World world =
      LoadWorld(ImpactScene(GetParam(), kFallingBodies[0], kHalfSpaceGround, 0.01, -0.02, 0));
  double last = ReadVector(world, "position").z();
  for (int s = 0; s < 100; ++s) {
    ASSERT_TRUE(world.Step().ok());
    const double z = ReadVector(world, "position").z();
    EXPECT_LT(z - last, 0.1 * 0.01 * 1.0001) << "step " << s;
    EXPECT_LT(ReadVector(world, "velocity").norm(), 5e-3) << "step " << s;
    last = z;
  }
  EXPECT_NEAR(last, 0.05, 1e-4);
}

// The speed is an option, and 0 leaves the cube where it is.
TEST_P(Overlap, StaysWithoutRecovery) {
  const std::string scene =
      ImpactScene(GetParam(), kFallingBodies[0], kHalfSpaceGround, 0.01, -0.02, 0) +
      "contact: {recovery_speed: 0}\n";
  World world = LoadWorld(scene);
  for (int s = 0; s < 50; ++s) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(ReadVector(world, "position").z(), 0.03, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, Overlap, ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
