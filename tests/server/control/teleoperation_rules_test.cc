// The rules of teleoperation that the server keeps, whatever its clients do. Roles are tested in
// tests/server/service/methods_test.cc, connections that end in tests/server/serve.

#include <cmath>
#include <limits>

#include "tests/server/control/operator.h"

namespace pliant::server {
namespace {

using Eigen::Vector3d;
using std::chrono::milliseconds;

constexpr char kLimitedRobot[] = R"(
    teleop:
      fallback: HOLD
      limits: {speed: 0.2, acceleration: 2, lower: [-0.1, -2, 0.3], upper: [0.15, 2, 0.6]}
      groups: [{name: slides, joints: ["[xyz]"]}, {name: jaws, joints: [left, right]}]
)";
constexpr char kLimitedPaddle[] = R"(time_step: 0.01
bodies:
  - name: paddle
    rigid: {motion: KINEMATIC, shapes: [{box: {size: [0.1, 0.1, 0.1]}}],
        drive: {speed: 0.3, acceleration: 3, spin: 1, spin_acceleration: 5,
            lower: [-0.1, -0.1, -0.1], upper: [0.2, 0.1, 0.1]}}
)";

v1::CommandRequest TwistAt(const Vector3d& linear, const Vector3d& angular = Vector3d::Zero()) {
  v1::CommandRequest command;
  for (const double x : linear) command.mutable_twist()->add_linear(x);
  for (const double x : angular) command.mutable_twist()->add_angular(x);
  return command;
}

v1::CommandRequest MoveJoint(const std::string& joint, double value) {
  v1::CommandRequest command;
  command.mutable_joint_targets()->add_joints(joint);
  command.mutable_joint_targets()->add_values(value);
  return command;
}

absl::StatusOr<v1::Lease> TryAcquire(ControlledWorld* w, const std::string& target,
                                     const std::string& client, bool takeover, int priority) {
  v1::AcquireLeaseRequest request;
  request.set_target(target);
  request.set_client(client);
  request.set_takeover(takeover);
  request.set_priority(priority);
  return w->control().Acquire(request, w->now());
}

// Pushes the link of a joint that holds its position, and lets it go again.
void ExpectHolds(ControlledWorld* w, const std::string& lease, const std::string& joint,
                 const std::string& link) {
  const double held = w->position(joint);
  v1::CommandRequest push;
  push.mutable_wrench()->set_link(link);
  for (const double x : {0.0, 0.0, 1.0}) push.mutable_wrench()->add_torque(x);
  w->Repeat(100, lease, push);
  // the compliance of near-rigid rows, 2 β² h² W / 4π² per unit of torque, where β = 0.1 and the
  // inverse inertia W is at most 100 / (kg·m²)
  EXPECT_NEAR(w->position(joint), held, 5.1e-6);
}

// Rule 2. Joints that are to hold stop when their commands do, and stay there under a load.
TEST(TeleoperationRules, RateHoldsItsPositionWhenItsCommandsStop) {
  ControlledWorld w(LoadGantryModel("", kLimitedRobot));
  const std::string lease = w.Acquire("left");
  w.Repeat(50, lease, MoveJoint("spin", 3));
  w.Step(11);
  const double fast = w.target("left/spin");
  w.Step();
  // no limit of the acceleration in the file: 8 rad/s in 0.1 s
  EXPECT_NEAR(w.target("left/spin"), fast - 0.8, 1e-9);
  w.Step(20);
  ExpectHolds(&w, lease, "left/spin", "wheel");

  // the next command is followed as if nothing had been held
  w.Repeat(30, lease, MoveJoint("spin", -2));
  EXPECT_NEAR(w.rate("left/spin"), -2, 0.05);
}

// Rule 2. The actuator stops the joint with its own effort at most.
TEST(TeleoperationRules, EffortHoldsThePositionWhenItsCommandsStop) {
  ControlledWorld w(LoadGantryModel("", kLimitedRobot));
  const std::string lease = w.Acquire("left");
  w.Repeat(40, lease, MoveJoint("motor", 1));
  w.Step(11);
  const double fast = w.rate("left/motor");
  ASSERT_GT(fast, 3);
  w.Step();
  // 2 N·m, and 0.1 N·m·s/rad of the joint, on 0.01 kg·m²
  EXPECT_NEAR(w.rate("left/motor"), (fast - 2) / 1.1, 1e-3);
  w.Step(50);
  ExpectHolds(&w, lease, "left/motor", "rotor");
  w.Repeat(10, lease, MoveJoint("motor", 1));
  EXPECT_GT(w.rate("left/motor"), 1);
}

// Rule 2, without a declaration: rates ramp to zero, and an effort leaves its joint free.
TEST(TeleoperationRules, RatesAndEffortsEndByDefaultWhenTheirCommandsStop) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  w.Repeat(50, lease, MoveJoint("spin", 3));
  w.Repeat(40, lease, MoveJoint("motor", 1));
  w.Step(20);
  EXPECT_EQ(w.target("left/spin"), 0);
  EXPECT_EQ(w.target("left/motor"), 0);
  EXPECT_GT(w.rate("left/motor"), 1);
}

// Rule 3.
TEST(TeleoperationRules, GroupsOfARobotHaveLeasesOfTheirOwn) {
  ControlledWorld w(LoadGantryModel("", kLimitedRobot));
  const std::string slides = w.Acquire("left/slides", "alice");
  const std::string jaws = w.Acquire("left/jaws", "bob");
  ASSERT_TRUE(w.Send(slides, MoveJoint("x", 0.1)).ok());
  ASSERT_TRUE(w.Send(jaws, MoveJoint("left", 0.02)).ok());
  w.Step(60);
  EXPECT_EQ(w.target("left/x"), 0.1);
  EXPECT_EQ(w.target("left/left"), 0.02);

  const absl::Status beyond = w.Send(jaws, MoveJoint("x", 0));
  EXPECT_NE(beyond.message().find("\"left/jaws\"; joints with actuators: left, right"),
            std::string::npos)
      << beyond;
  const absl::Status whole = TryAcquire(&w, "left", "carol", false, 0).status();
  EXPECT_NE(whole.message().find("driven by"), std::string::npos) << whole;

  // the end of one lease stops its own group only
  ASSERT_TRUE(w.Send(slides, MoveJoint("x", -0.1)).ok());
  ASSERT_TRUE(w.Send(jaws, MoveJoint("left", 0)).ok());
  w.Step(2);
  ASSERT_TRUE(w.control().Release(slides, w.now()).ok());
  w.Step(60);
  EXPECT_GT(w.target("left/x"), 0.05);
  EXPECT_EQ(w.target("left/left"), 0);
}

// Rule 3. The owner and its priority are visible.
TEST(TeleoperationRules, PriorityDecidesWhoMayTakeOver) {
  ControlledWorld w(LoadGantryModel("", kLimitedRobot));
  ASSERT_TRUE(TryAcquire(&w, "left", "alice", false, 10).ok());
  EXPECT_FALSE(TryAcquire(&w, "left/jaws", "bob", true, 9).ok());
  ASSERT_TRUE(TryAcquire(&w, "left", "carol", true, 10).ok());
  const ControlStatus status = w.control().Describe(w.now());
  ASSERT_EQ(status.commands.size(), 1u);
  EXPECT_EQ(status.commands[0].client, "carol");
  EXPECT_EQ(status.commands[0].priority, 10);
  EXPECT_EQ(TryAcquire(&w, "right", "bob", false, 101).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TryAcquire(&w, "right", "bob", false, -1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Rule 3. However often two operators take a body from each other, at most one moves it at a time,
// and it never exceeds its limits.
TEST(TeleoperationRules, TwoOperatorsWhoFightMoveABodyWithinItsLimits) {
  ControlledWorld w(LoadTestModel(kLimitedPaddle));
  double x = 0, speed = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool is_bob = i % 3 != 0;
    const auto lease = TryAcquire(&w, "paddle", is_bob ? "bob" : "alice", true, 0);
    ASSERT_TRUE(lease.ok());
    ASSERT_TRUE(w.Send(lease->lease_id(), TwistAt({is_bob ? 50.0 : -50.0, 0, 0})).ok());
    w.Step();
    const double now = (w.place("paddle").x() - x) / 0.01;
    EXPECT_LE(std::abs(now), 0.3 + 1e-9);
    EXPECT_LE(std::abs(now - speed), 3 * 0.01 + 1e-9);
    x = w.place("paddle").x();
    speed = now;
    EXPECT_EQ(w.control().Describe(w.now()).commands.size(), 1u);
  }
}

// Rule 5.
TEST(TeleoperationRules, CommandsOfALeaseThatEndedAreNeverReplayed) {
  ControlledWorld w(LoadTestModel(kLimitedPaddle));
  const std::string lease = w.Acquire("paddle");
  ASSERT_TRUE(w.Send(lease, TwistAt({0.3, 0, 0})).ok());
  ASSERT_TRUE(w.control().Release(lease, w.now()).ok());
  const std::string next = w.Acquire("paddle");
  w.Step(5);
  EXPECT_TRUE(w.inputs().poses.empty());
  EXPECT_FALSE(w.Send(lease, TwistAt({0.3, 0, 0})).ok());
  w.Step(5);
  EXPECT_TRUE(w.inputs().poses.empty());
}

// Rule 6. A box of the scene bounds the position, its speed and acceleration the motion in it.
TEST(TeleoperationRules, BodyStaysWithinTheLimitsOfItsScene) {
  ControlledWorld w(LoadTestModel(kLimitedPaddle));
  const std::string lease = w.Acquire("paddle");
  Vector3d p = w.place("paddle"), v = Vector3d::Zero();
  for (int i = 0; i < 600; ++i) {
    const double sign = i / 200 % 2 == 0 ? 1 : -1;
    w.Repeat(1, lease, TwistAt(sign * Vector3d(1e3, 20, -300)));
    const Vector3d now = w.place("paddle"), speed = (now - p) / 0.01;
    EXPECT_LE(speed.norm(), 0.3 * (1 + 1e-9));
    EXPECT_LE((speed - v).norm(), 3 * 0.01 * (1 + 1e-9));
    // it brakes at half the acceleration, and may pass the side by a millimetre
    EXPECT_LE(now.x(), 0.2 + 1e-3);
    EXPECT_GE(now.x(), -0.1 - 1e-3);
    p = now;
    v = speed;
  }
  EXPECT_GT(w.place("paddle").x(), 0.19);
  v1::CommandRequest pose;
  for (const double x : {-5.0, 0.0, 0.0}) pose.mutable_pose()->add_position(x);
  w.Repeat(200, lease, pose);
  EXPECT_NEAR(w.place("paddle").x(), -0.1, 2e-3);
}

TEST(TeleoperationRules, ToolStaysWithinTheLimitsOfItsRobot) {
  ControlledWorld w(LoadGantryModel("", kLimitedRobot));
  const std::string lease = w.Acquire("left");
  double last = w.target("left/x");
  for (int i = 0; i < 300; ++i) {
    w.Repeat(1, lease, TwistAt({5, 0, 0}));
    EXPECT_LE(w.target("left/x") - last, 0.2 * 0.01 + 1e-9);
    last = w.target("left/x");
  }
  EXPECT_NEAR(w.place("left/hand").x(), 0.15, 2e-3);
}

// Rule 7. A command starts from the present pose, at rest.
TEST(TeleoperationRules, EngagingNeverMakesABodyJump) {
  ControlledWorld w(LoadTestModel(kLimitedPaddle));
  const std::string lease = w.Acquire("paddle");
  v1::CommandRequest pose;
  for (const double x : {0.2, 0.0, 0.0}) pose.mutable_pose()->add_position(x);
  for (int round = 0; round < 3; ++round) {
    const double before = w.place("paddle").x();
    w.Repeat(1, lease, pose);
    EXPECT_LE(w.place("paddle").x() - before, 3 * 0.01 * 0.01 + 1e-12) << round;
    // the clutch opens: by a pause, a reset, and a restored state
    if (round == 0) {
      w.Repeat(20, lease, pose);
      w.control().Drop(0);
      w.Step(60);  // to rest
    } else if (round == 1) {
      w.world().Reset();
      w.control().Drop(1);
    }
  }
}

// Rule 7. What a client sent while it still saw the world of before is refused.
TEST(TeleoperationRules, CommandsFromBeforeAResetAreRefused) {
  ControlledWorld w(LoadTestModel(kLimitedPaddle));
  const std::string lease = w.Acquire("paddle");
  v1::CommandRequest command = TwistAt({0.1, 0, 0});
  command.set_epoch(0);
  ASSERT_TRUE(w.Send(lease, command).ok());
  w.world().Reset();
  w.control().Drop(1);
  const absl::Status refused = w.Send(lease, command);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("reset or restored since epoch 0"), std::string::npos)
      << refused;
  w.Step();
  EXPECT_TRUE(w.inputs().poses.empty());
  command.set_epoch(1);
  EXPECT_TRUE(w.Send(lease, command).ok());
}

// Rule 7. A pause or a restore ends motion that was commanded under a lease for good.
TEST(TeleoperationRules, PauseEndsTheMotionOfARobot) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  ASSERT_TRUE(w.Send(lease, MoveJoint("x", 0.5)).ok());
  w.Step(30);
  w.control().Drop(0);
  const double position = w.position("left/x");
  w.Step(60);
  EXPECT_NEAR(w.position("left/x"), position, 0.01);
  ASSERT_TRUE(w.Send(w.Acquire("right"), MoveJoint("x", 0.1)).ok());
  w.Step(60);
  EXPECT_NEAR(w.position("left/x"), position, 0.01);
}

}  // namespace
}  // namespace pliant::server
