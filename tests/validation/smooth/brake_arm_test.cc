// A hinged bar leans on a belt that leaves the hinge. Friction and normal force depend on each
// other: N = m g x_c/(x + μ y), with x and y from the hinge to the contact, across and down.

#include "absl/strings/str_format.h"

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class BrakeArm : public ::testing::TestWithParam<const char*> {};

TEST_P(BrakeArm, RestsSteadilyOnTheForceOfItsBalance) {
  constexpr double kLength = 0.5, kRadius = 0.02, kSteepness = 1.5;
  const double across = 1 / std::sqrt(1 + kSteepness * kSteepness), down = kSteepness * across;
  const double x = kLength * across, y = kLength * down + kRadius;
  // two balls hold the hinge's axis; a ball at each end puts the centre of mass into the middle
  World world = LoadWorld(Fill(R"(
time_step: 0.01
sleeping: false
method: {smooth: {integrator: $RULE, contact_distance: 1.0e-4}}
contact: {friction: 1}
bodies:
  - name: post
    rigid: {motion: FIXED, pose: {position: [-2, 0, 0.5]}, shapes: [{sphere: {radius: 0.1}}]}
  - name: belt
    rigid:
      motion: KINEMATIC
      pose: {position: [0, 0, -0.05]}
      shapes: [{box: {size: [4, 1, 0.1]}}]
  - name: bar
    rigid:
      motion: FREE
      mass: 1
      inertia: [0.0001, 0.020833, 0.020833, 0, 0, 0]
      pose: {position: [$X, 0, $Z], rpy_degrees: [0, 56.309932474, 0]}
      shapes:
        - {sphere: {radius: 0.02}, pose: {position: [0.25, 0, 0]}}
        - {sphere: {radius: 0.02}, pose: {position: [-0.25, 0, 0]}}
constraints:
  - {name: left, ball: {a: post, b: bar, point: [0, 0.1, $H]}}
  - {name: right, ball: {a: post, b: bar, point: [0, -0.1, $H]}}
script: [{target: {pose: belt}, times: [0, 2], values: [[0, 0, -0.05], [0.4, 0, -0.05]]}]
)",
                               {{"$RULE", GetParam()},
                                {"$X", absl::StrFormat("%.12f", 0.5 * x)},
                                {"$Z", absl::StrFormat("%.12f", y + 5e-5 - 0.5 * kLength * down)},
                                {"$H", absl::StrFormat("%.12f", y + 5e-5)}}));
  const double expected = kGravity * 0.5 * x / (x + y);  // 1.907 N
  while (world.state().time < 1) ASSERT_TRUE(world.Step().ok());
  for (int k = 0; k < 20; ++k) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged) << world.report().residual;
    double force = 0;
    for (const ContactForce& contact : world.report().contacts)
      force += std::abs(contact.impulse_W.z()) / 0.01;
    EXPECT_NEAR(force, expected, 2e-3 * expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, BrakeArm, ::testing::Values("BE", "BDF2", "TR_BDF2", "SDIRK2"));

}  // namespace
}  // namespace pliant::physics
