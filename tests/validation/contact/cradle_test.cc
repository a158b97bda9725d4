// Newton's cradle: five pendulums that touch, with restitution 1.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr int kPendulums = 5;
constexpr double kLength = 0.5, kBobMass = 0.1, kRaised = 0.5;  // [m], [kg], [rad]

World MakeCradle(const std::string& method, double h) {
  const std::string file = PathOfTest("pendulum.urdf");
  std::ofstream(file) << R"(<robot name="pendulum">
  <link name="pivot"/>
  <link name="bob">
    <inertial><origin xyz="0 0 -0.5"/><mass value="0.1"/>
      <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.5"/><geometry><sphere radius="0.025"/></geometry></collision>
  </link>
  <joint name="swing" type="continuous">
    <parent link="pivot"/><child link="bob"/><axis xyz="0 -1 0"/></joint>
</robot>)";
  std::string robots;
  for (int i = 0; i < kPendulums; ++i) {
    robots += Fill(
        "  - {name: pendulum_$I, file: $FILE, base: FIXED, pose: {position: [$X, 0, 1]}, "
        "joint_positions: {swing: $Q}}\n",
        {{"$I", std::to_string(i)},
         {"$FILE", file},
         {"$X", Number(0.05 * i)},
         {"$Q", Number(i == 0 ? -kRaised : 0)}});
  }
  return LoadWorld(Fill(R"(
name: cradle
time_step: $H
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0, restitution: 1}
robots:
)",
                        {{"$METHOD", method}, {"$H", Number(h)}}) +
                   robots);
}

class Cradle : public ::testing::TestWithParam<std::string> {};

// Each swing ends where the first one began, on alternate sides, and the balls between hang still.
// In a swing the integrator keeps the energy to O(ωh) of itself, at the ends of swings to O(ωh)².
TEST_P(Cradle, OuterBallsSwingInTurnTwentyTimes) {
  constexpr double kStep = 1e-3;
  World world = MakeCradle(GetParam(), kStep);
  const auto angle = [&](int i) { return world.state().q[i]; };
  const auto rate = [&](int i) { return world.state().v[i]; };
  const double energy = kBobMass * kGravity * kLength * (1 - std::cos(kRaised));
  int swings = 0;
  double last_rate = 0, worst = 0;
  for (int s = 0; s < 15 / kStep && swings < 20; ++s) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << s;
    for (int i = 1; i + 1 < kPendulums; ++i) worst = std::max(worst, std::abs(angle(i)));
    // the ball that swings turns round
    const int outer = std::abs(angle(0)) > std::abs(angle(kPendulums - 1)) ? 0 : kPendulums - 1;
    if (std::abs(angle(outer)) > 0.9 * kRaised && rate(outer) * last_rate < 0) {
      ++swings;
      EXPECT_EQ(outer, swings % 2 == 1 ? kPendulums - 1 : 0);
      const double top = kBobMass * kGravity * kLength * (1 - std::cos(angle(outer)));
      EXPECT_NEAR(top, energy, 1e-4 * energy) << "swing " << swings;
    }
    last_rate = rate(outer);
  }
  EXPECT_EQ(swings, 20);
  // overlap of up to 0.1 mm may be left to a velocity of 1 mm/s
  EXPECT_LT(worst * kLength, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Methods, Cradle, ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
