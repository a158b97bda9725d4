// The shipped scene that is made to be driven by a gamepad.

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "physics/world/body_motion.h"
#include "tests/server/control/operator.h"

namespace pliant::server {
namespace {

constexpr int kHold = 4, kClose = 5, kTorsoUp = 7;

std::shared_ptr<const physics::Model> LoadFetch() {
  physics::SceneResult scene =
      physics::LoadSceneFile(PLIANT_SOURCE_DIR "/scenes/fetch_drive.yaml", {});
  for (const physics::SceneMessage& message : scene.messages)
    ADD_FAILURE() << physics::Format(message);
  return scene.model;
}

v1::CommandRequest PadOf(std::initializer_list<double> axes, std::initializer_list<int> pressed) {
  v1::CommandRequest command;
  for (const double axis : axes) command.mutable_gamepad()->add_axes(axis);
  for (int button = 0; button < 17; ++button) {
    const bool is_down = std::find(pressed.begin(), pressed.end(), button) != pressed.end();
    command.mutable_gamepad()->add_buttons(is_down ? 1 : 0);
  }
  return command;
}

// Heading of the robot's base about z [rad], 0 at the start.
double CalcHeading(ControlledWorld& w) {
  const auto X_WB = physics::CalcBodyPose(w.model(), w.world().state(), w.body("fetch/base_link"));
  return std::atan2(X_WB.R(1, 0), X_WB.R(0, 0));
}

TEST(FetchGamepad, LeftStickDrivesTheBaseWhileTheButtonIsHeld) {
  ControlledWorld w(LoadFetch());
  const std::string lease = w.Acquire("fetch");
  w.Repeat(60, lease, PadOf({0, -1}, {}));
  EXPECT_NEAR(w.place("fetch/base_link").x(), -1, 1e-3);

  // 8 rad/s on wheels of 0.06 m; a steady drive covers 0.48 m/s
  w.Repeat(120, lease, PadOf({0, -1}, {kHold}));
  const double from = w.place("fetch/base_link").x();
  w.Repeat(60, lease, PadOf({0, -1}, {kHold}));
  EXPECT_NEAR(w.place("fetch/base_link").x() - from, 0.48 * 60 / 120, 0.01);
  EXPECT_NEAR(w.place("fetch/base_link").y(), 0, 1e-3);

  // it stops without the button, and then stays
  w.Repeat(120, lease, PadOf({0, -1}, {}));
  const double at = w.place("fetch/base_link").x();
  w.Step(60);
  EXPECT_NEAR(w.place("fetch/base_link").x(), at, 1e-3);
}

TEST(FetchGamepad, StickToTheRightTurnsItToTheRight) {
  ControlledWorld w(LoadFetch());
  const std::string lease = w.Acquire("fetch");
  w.Repeat(120, lease, PadOf({1, 0}, {kHold}));
  EXPECT_LT(CalcHeading(w), -0.3);
  EXPECT_LT((w.place("fetch/base_link") - Eigen::Vector3d(-1, 0, 0)).norm(), 0.05);
}

TEST(FetchGamepad, TwoPeopleDriveItsBaseAndItsArm) {
  ControlledWorld w(LoadFetch());
  const std::string base = w.Acquire("fetch/base", "alice"), arm = w.Acquire("fetch/arm", "bob");
  const double torso = w.target("fetch/torso_lift_joint");
  const double finger = w.target("fetch/right_finger_joint");
  // each has the whole pad, which moves only what its lease is for
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(w.Send(base, PadOf({0, -1}, {kHold, kTorsoUp, kClose})).ok());
    ASSERT_TRUE(w.Send(arm, PadOf({0, 1}, {kHold, kTorsoUp, kClose})).ok());
    w.Step();
  }
  EXPECT_GT(w.place("fetch/base_link").x(), -0.95);
  // half a second of the ramps that lead to 0.1 m/s and 0.05 m/s within 1 s
  EXPECT_NEAR(w.target("fetch/torso_lift_joint") - torso, 0.5 * 0.1 * 0.25, 1e-3);
  EXPECT_NEAR(w.target("fetch/right_finger_joint") - finger, -0.5 * 0.05 * 0.25, 5e-4);
}

}  // namespace
}  // namespace pliant::server
