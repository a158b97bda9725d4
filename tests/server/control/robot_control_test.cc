// Robot control on worlds that are stepped: leases, targets, tools and the stop.

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "server/control/world_control.h"
#include "tests/server/host/robot_scene.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

constexpr double kStep = 0.01;       // [s]
constexpr double kSlideSpeed = 0.4;  // [m/s], of x, y and z
constexpr double kJawSpeed = 0.1;    // [m/s]

// Two gantries, each with an operator; the test sets the time.
class RobotControlTest : public testing::Test {
 protected:
  void SetUp() override {
    left_ = Acquire("left", "alice");
    right_ = Acquire("right", "bob");
  }

  std::string Acquire(const std::string& robot, const std::string& client, bool takeover = false) {
    v1::AcquireLeaseRequest request;
    request.set_target(robot);
    request.set_client(client);
    request.set_takeover(takeover);
    const auto lease = control_.Acquire(request, now_);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? lease->lease_id() : "";
  }

  v1::CommandRequest Request(const std::string& lease) {
    v1::CommandRequest request;
    request.set_lease_id(lease);
    request.set_sequence(++sequence_);
    return request;
  }
  absl::Status Set(const std::string& lease, const std::string& joint, double value) {
    v1::CommandRequest request = Request(lease);
    request.mutable_joint_targets()->add_joints(joint);
    request.mutable_joint_targets()->add_values(value);
    return control_.Submit(request, now_).status();
  }
  absl::Status Grip(const std::string& lease, double position, const std::string& name = "jaws") {
    v1::CommandRequest request = Request(lease);
    request.mutable_gripper()->set_controller(name);
    request.mutable_gripper()->set_position(position);
    return control_.Submit(request, now_).status();
  }
  absl::Status Twist(const std::string& lease, const Eigen::Vector3d& v,
                     const std::string& name = "tool") {
    v1::CommandRequest request = Request(lease);
    request.set_controller(name);
    for (const double x : v) request.mutable_twist()->add_linear(x);
    return control_.Submit(request, now_).status();
  }
  absl::Status Renew(const std::string& robot, const std::string& lease) {
    v1::AcquireLeaseRequest request;
    request.set_target(robot);
    request.set_lease_id(lease);
    return control_.Acquire(request, now_).status();
  }

  void Step(int steps = 1) {
    for (int i = 0; i < steps; ++i) {
      const absl::Status status = world_.Step(control_.Advance(world_.state(), now_));
      ASSERT_TRUE(status.ok()) << status;
      now_ += milliseconds(10);
    }
  }
  // Steps while renewing the leases, as an open page does.
  void StepHolding(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (i % 50 == 0) {
        ASSERT_TRUE(Renew("left", left_).ok() && Renew("right", right_).ok());
      }
      Step();
    }
  }

  // Steps while repeating goals of the left robot's joints, as an operator at a control does.
  void RepeatFor(int steps, const std::map<std::string, double>& goals) {
    for (int i = 0; i < steps; ++i) {
      for (const auto& [joint, value] : goals) ASSERT_TRUE(Set(left_, joint, value).ok());
      Step();
    }
  }

  const physics::RobotJoint& Joint(const std::string& name) const {
    return model_->joint_of(model_->actuators[physics::FindActuator(*model_, name)]);
  }
  double Target(const std::string& name) const {
    return world_.state().controls[physics::FindActuator(*model_, name)];
  }
  double Position(const std::string& name) const {
    return model_->Positions(world_.state(), Joint(name).block)[Joint(name).position];
  }
  double Rate(const std::string& name) const {
    return model_->Velocities(world_.state(), Joint(name).block)[Joint(name).velocity];
  }

  std::shared_ptr<const physics::Model> model_ = LoadGantryModel();
  physics::World world_{model_};
  WorldControl control_{model_};
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::string left_, right_;
  std::uint64_t sequence_ = 0;
};

TEST_F(RobotControlTest, NothingIsCommandedUntilSomebodyCommands) {
  const physics::Inputs inputs = control_.Advance(world_.state(), now_);
  EXPECT_TRUE(inputs.actuators.empty());
  EXPECT_TRUE(inputs.twists.empty());
}

// Without an acceleration limit a joint takes 0.1 s to reach its speed, ten steps here.
TEST_F(RobotControlTest, TargetMovesAtTheJointsSpeedWithoutJerksAndHolds) {
  ASSERT_TRUE(Set(left_, "x", 0.3).ok());
  double last = Target("left/x"), rate = 0;
  int fast = 0;
  for (int step = 0; step < 110; ++step) {
    if (step == 50) {
      ASSERT_TRUE(Renew("left", left_).ok() && Renew("right", right_).ok());
    }
    Step();
    const double now = (Target("left/x") - last) / kStep;
    EXPECT_LE(now, kSlideSpeed + 1e-12) << step;
    EXPECT_GE(now, 0) << step;
    EXPECT_LE(std::abs(now - rate), kSlideSpeed / 10 + 1e-7) << step;
    fast += now > 0.999 * kSlideSpeed;
    last = Target("left/x");
    rate = now;
  }
  EXPECT_GT(fast, 20);
  EXPECT_EQ(Target("left/x"), 0.3);
  StepHolding(60);
  EXPECT_NEAR(Position("left/x"), 0.3, 1e-4);

  // it also holds once the lease has lapsed
  Step(300);
  EXPECT_EQ(Target("left/x"), 0.3);
}

TEST_F(RobotControlTest, TargetTurnsRoundWithoutAJerk) {
  ASSERT_TRUE(Set(left_, "x", 0.3).ok());
  Step(30);
  ASSERT_TRUE(Set(left_, "x", -0.3).ok());
  double last = Target("left/x"), rate = kSlideSpeed;
  for (int step = 0; step < 60; ++step) {
    Step();
    const double now = (Target("left/x") - last) / kStep;
    EXPECT_LE(std::abs(now - rate), kSlideSpeed / 10 + 1e-9) << step;
    last = Target("left/x");
    rate = now;
  }
  EXPECT_NEAR(rate, -kSlideSpeed, 1e-9);
}

TEST_F(RobotControlTest, TargetBeyondALimitIsTheLimit) {
  ASSERT_TRUE(Set(left_, "x", 1e300).ok());
  ASSERT_TRUE(Set(left_, "y", -7).ok());
  StepHolding(200);
  EXPECT_EQ(Target("left/x"), 0.5);
  EXPECT_EQ(Target("left/y"), -0.5);
  RepeatFor(20, {{"spin", 100}, {"motor", -50}});
  EXPECT_EQ(Target("left/spin"), 8);
  EXPECT_EQ(Target("left/motor"), -2);
}

TEST_F(RobotControlTest, OperatorsOfTwoRobotsDoNotDisturbEachOther) {
  ASSERT_TRUE(Set(left_, "x", 0.2).ok());
  ASSERT_TRUE(Set(right_, "x", -0.1).ok());
  StepHolding(90);
  EXPECT_EQ(Target("left/x"), 0.2);
  EXPECT_EQ(Target("right/x"), -0.1);
  control_.Release(left_, now_).IgnoreError();
  ASSERT_TRUE(Set(right_, "x", 0.1).ok());
  Step(90);
  EXPECT_EQ(Target("left/x"), 0.2);
  EXPECT_EQ(Target("right/x"), 0.1);
}

TEST_F(RobotControlTest, RobotOfWhoeverWentAwayStaysWhereItIs) {
  ASSERT_TRUE(Set(left_, "x", 0.5).ok());
  Step(99);
  EXPECT_GT(Target("left/x"), 0.3);
  Step(3);  // the lease has lapsed
  const double position = Position("left/x");
  Step(100);
  EXPECT_LT(Target("left/x"), 0.45);
  EXPECT_NEAR(Position("left/x"), position, 0.005);
}

TEST_F(RobotControlTest, RatesAndEffortsLapseATenthOfASecondAfterTheirLastCommand) {
  RepeatFor(50, {{"spin", 3}, {"motor", 1}, {"x", 0.5}});
  EXPECT_NEAR(Rate("left/spin"), 3, 0.05);
  Step(9);
  EXPECT_EQ(Target("left/spin"), 3);
  EXPECT_EQ(Target("left/motor"), 1);
  Step(2);
  EXPECT_LT(Target("left/spin"), 3);
  EXPECT_EQ(Target("left/motor"), 0);
  const double reached = Target("left/x");
  Step(30);
  EXPECT_EQ(Target("left/spin"), 0);
  EXPECT_GT(Target("left/x"), reached + 0.1);  // positions go on while the lease lasts
}

TEST_F(RobotControlTest, WhoeverTakesOverDoesNotGoOnWithWhatTheOtherWanted) {
  ASSERT_TRUE(Set(left_, "x", 0.5).ok());
  Step(30);
  const std::string carol = Acquire("left", "carol", true);
  ASSERT_TRUE(Set(carol, "y", 0.1).ok());
  const double position = Position("left/x");
  for (int i = 0; i < 100; ++i) {
    if (i % 50 == 0) {
      ASSERT_TRUE(Renew("left", carol).ok());
    }
    Step();
  }
  EXPECT_NEAR(Position("left/x"), position, 0.005);
  EXPECT_EQ(Target("left/y"), 0.1);
  EXPECT_FALSE(Set(left_, "x", 0.5).ok());
}

// The target runs ahead of a moving joint by damping / stiffness · speed = 4 cm. If the stop froze
// the target there, the robot would move on by this distance.
TEST_F(RobotControlTest, StopFreezesWhereTheRobotIsAndIsLatched) {
  ASSERT_TRUE(Set(left_, "x", 0.5).ok());
  Step(60);
  const double position = Position("left/x");
  ASSERT_GT(Target("left/x") - position, 0.03);
  control_.Stop();
  Step(1);
  EXPECT_NEAR(Target("left/x"), position, 0.005);
  Step(100);
  EXPECT_NEAR(Position("left/x"), position, 0.005);
  left_ = Acquire("left", "alice");
  const absl::Status refused = Set(left_, "x", 0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("stopped"), std::string::npos) << refused;

  // commands from before the stop are not resumed
  const double target = Target("left/x");
  control_.Resume();
  Step(10);
  EXPECT_EQ(Target("left/x"), target);
  ASSERT_TRUE(Set(left_, "x", 0).ok());
  Step(10);
  EXPECT_LT(Target("left/x"), target);
}

TEST_F(RobotControlTest, StopEndsRatesAndEfforts) {
  RepeatFor(20, {{"spin", 3}, {"motor", 1}});
  EXPECT_EQ(Target("left/spin"), 3);
  EXPECT_EQ(Target("left/motor"), 1);
  control_.Stop();
  Step(20);
  EXPECT_EQ(Target("left/spin"), 0);
  EXPECT_EQ(Target("left/motor"), 0);
}

// A joint at rest under a load must not sink when it is stopped: the offset of its target carries
// the load, so the target must stay.
TEST_F(RobotControlTest, StopAtRestMovesNothing) {
  ASSERT_TRUE(Set(left_, "x", 0.1).ok());
  StepHolding(100);
  control_.Stop();
  Step(5);
  EXPECT_EQ(Target("left/x"), 0.1);
}

TEST_F(RobotControlTest, TwistMovesTheToolForATenthOfASecondThenItRampsToRest) {
  // the joints follow with the time constant damping / stiffness = 0.1 s: after 0.8 s they lack
  // exp(−8) = 3e-4 of the speed
  for (int i = 0; i < 80; ++i) {
    ASSERT_TRUE(Twist(left_, {0.1, 0, -0.2}).ok());
    Step();
  }
  EXPECT_NEAR(Rate("left/x"), 0.1, 1e-3);
  EXPECT_NEAR(Rate("left/z"), -0.2, 1e-3);
  EXPECT_NEAR(Rate("left/y"), 0, 1e-6);

  // the twist is held for 100 ms after the last command, which was 10 ms ago
  const double before = Target("left/z");
  Step(10);
  EXPECT_NEAR(Target("left/z"), before - 0.2 * 0.1, 1e-6);
  Step(3);  // 0.2 m/s at 10 m/s² takes two steps
  const double rest = Target("left/z");
  Step(80);
  EXPECT_EQ(Target("left/z"), rest);
  EXPECT_NEAR(Rate("left/z"), 0, 1e-3);
}

TEST_F(RobotControlTest, ToolStartsWithinItsAcceleration) {
  ASSERT_TRUE(Twist(left_, {0.3, 0, 0}).ok());
  double last = 0;
  for (int i = 0; i < 4; ++i) {
    const double before = Target("left/x");
    Step();
    const double speed = (Target("left/x") - before) / kStep;
    EXPECT_LE(speed - last, DriveLimits().acceleration * kStep + 1e-6);
    last = speed;
  }
  EXPECT_NEAR(last, 0.3, 1e-6);
}

TEST_F(RobotControlTest, ToolIsNoFasterThanItsJoints) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Twist(left_, {50, 0, 0}).ok());
    const double before = Target("left/x");
    Step();
    EXPECT_LE(Target("left/x") - before, kSlideSpeed * kStep + 1e-9);
  }
}

TEST_F(RobotControlTest, PoseIsReachedWithoutOvershoot) {
  const Eigen::Vector3d goal(0.2, 1.1, 0.4);
  const int body = physics::FindBody(*model_, "left/hand");
  double highest = -1;
  for (int i = 0; i < 300; ++i) {
    v1::CommandRequest request = Request(left_);
    for (const double x : goal) request.mutable_pose()->add_position(x);
    ASSERT_TRUE(control_.Submit(request, now_).status().ok());  // the only controller needs no name
    Step();
    highest = std::max(highest, Position("left/x"));
  }
  const Eigen::Vector3d p = physics::CalcBodyPose(*model_, world_.state(), body).p;
  EXPECT_LT((p - goal).norm(), 1e-3);
  EXPECT_LT(highest, 0.2 * 1.002);
}

TEST_F(RobotControlTest, LaterCommandOnAJointWins) {
  // a controller command replaces the joint targets
  ASSERT_TRUE(Set(left_, "x", 0.4).ok());
  Step(10);
  ASSERT_TRUE(Twist(left_, {0, 0, 0.1}).ok());
  Step(1);
  const double x = Target("left/x");
  Step(9);
  EXPECT_EQ(Target("left/x"), x);
  EXPECT_GT(Target("left/z"), 0);

  // and a joint target replaces the controller command
  ASSERT_TRUE(Set(left_, "z", -0.2).ok());
  StepHolding(100);
  EXPECT_EQ(Target("left/z"), -0.2);
}

TEST_F(RobotControlTest, GripperMovesAllItsJointsBesideTheTool) {
  ASSERT_TRUE(Grip(left_, 0.02).ok());
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(Twist(left_, {0.1, 0, 0}).ok());
    const double before = Target("left/left");
    Step();
    EXPECT_LE(Target("left/left") - before, kJawSpeed * kStep + 1e-12);
  }
  EXPECT_EQ(Target("left/left"), 0.02);
  EXPECT_EQ(Target("left/right"), 0.02);
  EXPECT_GT(Target("left/x"), 0.02);
  ASSERT_TRUE(Grip(left_, 5).ok());
  StepHolding(50);
  EXPECT_EQ(Target("left/right"), 0.03);
}

TEST_F(RobotControlTest, ResetForgetsWhatWasWanted) {
  ASSERT_TRUE(Set(left_, "x", 0.5).ok());
  Step(10);
  world_.Reset();
  control_.Drop(1);
  EXPECT_TRUE(control_.Advance(world_.state(), now_).actuators.empty());
}

TEST_F(RobotControlTest, EchoNamesTheRobotItsOwnerAndTheStep) {
  ASSERT_TRUE(Set(left_, "x", 0.5).ok());
  Step(1);
  const ControlStatus status = control_.Describe(now_);
  ASSERT_EQ(status.commands.size(), 2u);
  EXPECT_EQ(status.commands[0].target, "left");
  EXPECT_EQ(status.commands[0].client, "alice");
  EXPECT_EQ(status.commands[0].sequence, sequence_);
  EXPECT_EQ(status.commands[0].applied_step, 1);
  EXPECT_EQ(status.commands[1].target, "right");
  EXPECT_EQ(status.commands[1].sequence, 0u);
}

TEST_F(RobotControlTest, RefusalsNameWhatIsWrongAndWhatThereIs) {
  const auto expect = [](const absl::Status& status, std::initializer_list<const char*> parts) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const char* part : parts)
      EXPECT_NE(status.message().find(part), std::string::npos) << part << ": " << status;
  };
  expect(Set(left_, "elbow", 0), {"\"elbow\"", "\"left\"", "x, y, z, left, right, spin, motor"});
  expect(Set(left_, "sway", 0), {"\"sway\"", "no actuator", "x, y, z"});
  expect(Set(left_, "x", std::numeric_limits<double>::quiet_NaN()), {"\"x\"", "finite"});
  expect(Grip(left_, 0, "claw"), {"gripper", "\"claw\"", "jaws"});
  expect(Grip(left_, std::numeric_limits<double>::infinity()), {"finite"});
  expect(Twist(left_, {0, 0, 0}, "jaws"), {"differential_ik", "\"jaws\"", "tool"});
  expect(Twist(left_, {0, std::numeric_limits<double>::quiet_NaN(), 0}), {"finite"});

  v1::CommandRequest request = Request(left_);
  expect(control_.Submit(request, now_).status(), {"joint_targets, gripper, twist or pose"});
  request.mutable_joint_targets()->add_joints("x");
  expect(control_.Submit(request, now_).status(), {"1 joints and 0 values"});
  request.mutable_joint_targets()->add_joints("x");
  for (int i = 0; i < 2; ++i) request.mutable_joint_targets()->add_values(0.1);
  expect(control_.Submit(request, now_).status(), {"joints[1]", "\"x\"", "twice"});

  // refused commands neither use up a sequence number nor move anything
  request.mutable_joint_targets()->mutable_joints()->RemoveLast();
  request.mutable_joint_targets()->mutable_values()->RemoveLast();
  EXPECT_TRUE(control_.Submit(request, now_).status().ok());
  EXPECT_EQ(control_.Advance(world_.state(), now_).actuators.size(), 1u);
}

TEST_F(RobotControlTest, BodiesTakeNoJointsAndLinksNoLease) {
  const std::string paddle = Acquire("paddle", "alice");
  absl::Status status = Set(paddle, "x", 0);
  EXPECT_NE(status.message().find("no joints"), std::string::npos) << status;
  status = Twist(paddle, {0, 0, 0});
  EXPECT_NE(status.message().find("no controllers"), std::string::npos) << status;

  v1::AcquireLeaseRequest request;
  request.set_target("left/hand");
  status = control_.Acquire(request, now_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("paddle, left, right"), std::string::npos) << status;
}

// The script of a scene does not move joints that a client has taken over.
TEST(RobotControl, CommandedRobotIsNotGivenBackToItsScript) {
  const auto model = LoadGantryModel(
      "script: [{target: {joint: left/x}, times: [0, 10], values: [0, -0.5]},"
      " {target: {twist: left/tool}, times: [0, 10], values: [[0, 0, 0, 0, 0.1, 0], [0, 0, 0, 0, "
      "0.1, 0]]}]\n");
  ASSERT_NE(model, nullptr);
  physics::World world(model);
  WorldControl control(model);
  SteadyTime now = SteadyTime() + std::chrono::hours(1);
  const int x = physics::FindActuator(*model, "left/x"),
            y = physics::FindActuator(*model, "left/y");
  const auto step = [&](int count) {
    for (int i = 0; i < count; ++i, now += milliseconds(10))
      ASSERT_TRUE(world.Step(control.Advance(world.state(), now)).ok());
  };
  step(20);
  EXPECT_LT(world.state().controls[x], -0.005);
  EXPECT_GT(world.state().controls[y], 0.01);

  v1::AcquireLeaseRequest acquire;
  acquire.set_target("left");
  const auto lease = control.Acquire(acquire, now);
  ASSERT_TRUE(lease.ok());
  v1::CommandRequest command;
  command.set_lease_id(lease->lease_id());
  command.set_sequence(1);
  for (const double v : {0.0, 0.0, 0.2}) command.mutable_twist()->add_linear(v);
  ASSERT_TRUE(control.Submit(command, now).ok());
  const double taken_x = world.state().controls[x];
  step(5);
  const double taken_y = world.state().controls[y];
  step(200);
  EXPECT_NEAR(world.state().controls[x], taken_x, 1e-9);
  EXPECT_NEAR(world.state().controls[y], taken_y, 1e-9);
}

// A soft body with an activation takes commands like a robot of its name, and stays inflated after
// a stop.
TEST(RobotControl, ActivationOfASoftBodyIsDrivenAndHeld) {
  const physics::SceneResult scene = physics::LoadSceneYaml(R"(
gravity: [0, 0, 0]
bodies:
  - name: finger
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      activations: [{name: inflate, limit: 5000}]
)",
                                                            "finger.yaml");
  ASSERT_TRUE(scene.ok());
  physics::World world(scene.model);
  WorldControl control(scene.model);
  SteadyTime now = SteadyTime() + std::chrono::hours(1);
  v1::AcquireLeaseRequest acquire;
  acquire.set_target("finger");
  const auto lease = control.Acquire(acquire, now);
  ASSERT_TRUE(lease.ok()) << lease.status();
  v1::CommandRequest command;
  command.set_lease_id(lease->lease_id());
  command.set_sequence(1);
  command.mutable_joint_targets()->add_joints("inflate");
  command.mutable_joint_targets()->add_values(9000);
  ASSERT_TRUE(control.Submit(command, now).ok());
  for (int i = 0; i < 50; ++i, now += milliseconds(10)) {
    if (i == 25) control.Stop();
    ASSERT_TRUE(world.Step(control.Advance(world.state(), now)).ok());
  }
  EXPECT_EQ(world.state().controls[0], 5000);
  EXPECT_EQ(world.report().efforts[0], 5000);
}

}  // namespace
}  // namespace pliant::server
