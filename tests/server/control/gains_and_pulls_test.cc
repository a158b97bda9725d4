// Gains, gripper forces, springs, wrenches and gamepads: their effects, their limits, and refused
// commands.

#include <algorithm>
#include <limits>

#include "physics/world/body_motion.h"
#include "tests/server/control/operator.h"

namespace pliant::server {
namespace {

using Eigen::Vector3d;

constexpr char kTeleop[] = R"(
    teleop:
      limits: {force: 50, torque: 5}
      groups: [{name: slides, joints: ["[xyz]"]}, {name: jaws, joints: [left, right]}]
      gamepad:
        dead_zone: 0.2
        hold: 5
        controls:
          - {axis: 0, tool: tool, twist: [0, 0, 0, 0.2, 0, 0]}
          - {axis: 1, tool: tool, twist: [0, 0, 0, 0, -0.2, 0]}
          - {button: 7, gripper: jaws, rate: 0.02}
          - {button: 6, gripper: jaws, rate: -0.02}
          - {axis: 2, joint: spin, rate: 3}
          - {axis: 3, joint: spin, rate: 30}
)";
// A cube of 8 kg and a soft ball; nothing falls.
constexpr char kBodiesToPull[] = R"(gravity: [0, 0, 0]
time_step: 0.01
bodies:
  - {name: table, rigid: {motion: FIXED, pose: {position: [0, 0, -5]}, shapes: [{half_space: {}}]}}
  - name: cube
    rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.2, 0.2, 0.2]}}],
        drive: {force: 40, torque: 2}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [1, 0, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)";

v1::CommandRequest GainsOf(const std::string& joint, double stiffness, double damping,
                           double effort_limit) {
  v1::CommandRequest command;
  command.mutable_gains()->add_joints(joint);
  if (stiffness >= 0) command.mutable_gains()->add_stiffness(stiffness);
  if (damping >= 0) command.mutable_gains()->add_damping(damping);
  if (effort_limit >= 0) command.mutable_gains()->add_effort_limit(effort_limit);
  return command;
}

v1::CommandRequest SpringTo(const Vector3d& anchor) {
  v1::CommandRequest command;
  for (const double x : anchor) command.mutable_spring()->add_anchor(x);
  return command;
}

v1::CommandRequest ForceOf(const Vector3d& force) {
  v1::CommandRequest command;
  for (const double x : force) command.mutable_wrench()->add_force(x);
  return command;
}

v1::CommandRequest Pad(double x, double y, double close, double hold) {
  v1::CommandRequest command;
  for (const double axis : {x, y}) command.mutable_gamepad()->add_axes(axis);
  for (const double button : {0.0, 0.0, 0.0, 0.0, 0.0, hold, 0.0, close})
    command.mutable_gamepad()->add_buttons(button);
  return command;
}

void ExpectRefused(const absl::Status& status, const char* text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_NE(status.message().find(text), std::string::npos) << text << ": " << status;
}

// Under a load F a joint rests F / k beside its target.
TEST(GainCommands, StiffnessIsThatOfTheJointAndHolds) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  ASSERT_TRUE(w.Send(lease, GainsOf("x", 2000, 200, -1)).ok());
  v1::CommandRequest push = ForceOf({10, 0, 0});
  push.mutable_wrench()->set_link("hand");
  w.Repeat(200, lease, push);
  EXPECT_NEAR(w.position("left/x"), 10.0 / 2000, 1e-6);
  EXPECT_EQ(w.gains("left/x").stiffness, 2000);
  EXPECT_EQ(w.gains("left/x").effort_limit, 500);  // stays
  EXPECT_EQ(w.gains("left/y").stiffness, 10000);

  // they outlast the lease, as positions do
  w.Step(300);
  EXPECT_EQ(w.gains("left/x").stiffness, 2000);
}

TEST(GainCommands, AreClampedToTheLimitsOfTheScene) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  ASSERT_TRUE(w.Send(lease, GainsOf("x", 1e9, 1e9, 1e9)).ok());
  ASSERT_TRUE(w.Send(lease, GainsOf("motor", -1, 30, 1)).ok());
  w.Step();
  // by default they do not exceed the actuator's own; a torque actuator has no damping
  EXPECT_EQ(w.gains("left/x").stiffness, 10000);
  EXPECT_EQ(w.gains("left/x").damping, 1000);
  EXPECT_EQ(w.gains("left/x").effort_limit, 500);
  EXPECT_EQ(w.gains("left/motor").damping, 0);
  EXPECT_EQ(w.gains("left/motor").effort_limit, 1);
}

TEST(GainCommands, RefusalsSayWhatIsWrong) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  ExpectRefused(w.Send(lease, GainsOf("spin", 5, -1, -1)), "has no stiffness");
  ExpectRefused(w.Send(lease, GainsOf("x", -0.5, std::numeric_limits<double>::infinity(), -1)),
                "expected a finite number");
  ExpectRefused(w.Send(lease, GainsOf("elbow", 5, -1, -1)), "no joint \"elbow\"");
  v1::CommandRequest two = GainsOf("x", 5, -1, -1);
  two.mutable_gains()->add_joints("y");
  ExpectRefused(w.Send(lease, two), "1 values for 2 joints");
}

// A jaw that is blocked presses with the commanded force.
TEST(GripperCommands, ForceLimitsTheGrip) {
  ControlledWorld w(LoadGantryModel());
  const std::string lease = w.Acquire("left");
  v1::CommandRequest grip;
  grip.mutable_gripper()->set_controller("jaws");
  grip.mutable_gripper()->set_position(0.02);
  grip.mutable_gripper()->set_force(6);
  ASSERT_TRUE(w.Send(lease, grip).ok());
  w.Step(80);
  EXPECT_NEAR(w.position("left/left"), 0.02, 1e-4);
  EXPECT_EQ(w.gains("left/left").effort_limit, 6);

  grip.mutable_gripper()->set_force(1000);  // beyond the gripper's
  ASSERT_TRUE(w.Send(lease, grip).ok());
  w.Step();
  EXPECT_EQ(w.gains("left/right").effort_limit, 20);
  grip.mutable_gripper()->set_force(0);
  ExpectRefused(w.Send(lease, grip), "gripper.force");
}

TEST(PullCommands, DefaultSpringBringsABodyToItsAnchorWithoutOvershoot) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string lease = w.Acquire("cube");
  double highest = 0;
  for (int i = 0; i < 200; ++i) {
    w.Repeat(1, lease, SpringTo({0, 0, 0.02}));
    highest = std::max(highest, w.place("cube").z());
  }
  EXPECT_NEAR(w.place("cube").z(), 0.02, 1e-5);
  EXPECT_LT(highest, 0.02 + 1e-6);
}

TEST(PullCommands, LapseAHundredMillisecondsAfterTheLastOne) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string lease = w.Acquire("cube");
  w.Repeat(1, lease, SpringTo({0, 0, 3}));
  w.Step(10);
  EXPECT_EQ(w.inputs().springs.size(), 1u);
  w.Step();
  EXPECT_TRUE(w.inputs().springs.empty());
}

TEST(PullCommands, EndWithTheLeaseAndTheStop) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string lease = w.Acquire("cube");
  w.Repeat(1, lease, ForceOf({1, 0, 0}));
  EXPECT_EQ(w.inputs().forces.size(), 1u);
  ASSERT_TRUE(w.control().Release(lease, w.now()).ok());
  w.Step();
  EXPECT_TRUE(w.inputs().forces.empty());

  const std::string next = w.Acquire("cube");
  ASSERT_TRUE(w.Send(next, ForceOf({1, 0, 0})).ok());
  w.control().Stop();
  w.Step();
  EXPECT_TRUE(w.inputs().forces.empty());
}

TEST(PullCommands, ForcesAndTorquesAreClampedToTheBodysLimits) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string lease = w.Acquire("cube");
  v1::CommandRequest command = ForceOf({300, 400, 0});
  for (const double x : {0.0, 0.0, -1e300}) command.mutable_wrench()->add_torque(x);
  w.Repeat(1, lease, command);
  const physics::Inputs::AppliedForce& force = w.inputs().forces.at(0);
  EXPECT_LT((force.force_W - Vector3d(24, 32, 0)).norm(), 1e-12);
  EXPECT_EQ(force.torque_W.z(), -2);
  command = SpringTo({100, 0, 0});
  command.mutable_spring()->set_max_force(1e6);
  w.Repeat(1, lease, command);
  EXPECT_EQ(w.inputs().springs.at(0).force_limit, 40);

  // without limits in the scene: twenty weights of the body
  const std::string soft = w.Acquire("ball");
  command.mutable_spring()->set_vertex(3);
  w.Repeat(1, soft, command);
  const double mass = 1000 * physics::CalcBodyVolume(w.model(), MakeInitialState(w.model()), 2);
  EXPECT_NEAR(w.inputs().springs.back().force_limit, 20 * 9.81 * mass, 1e-9);
}

TEST(PullCommands, AVertexOfASoftBodyFollowsItsSpring) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string lease = w.Acquire("ball");
  const Vector3d start = physics::CalcVertexPosition(w.model(), w.world().state(), 2, 0);
  const Vector3d anchor = start + Vector3d(0.1, 0, 0.05);
  v1::CommandRequest command = SpringTo(anchor);
  command.mutable_spring()->set_vertex(0);
  w.Repeat(200, lease, command);
  EXPECT_LT((physics::CalcVertexPosition(w.model(), w.world().state(), 2, 0) - anchor).norm(),
            1e-3);
}

TEST(PullCommands, ALinkIsPulledUnderTheLeaseOfItsRobot) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  v1::CommandRequest command = SpringTo(w.place("left/hand") + Vector3d(1, 0, 0));
  ExpectRefused(w.Send(lease, command), "expected the link to pull");
  command.mutable_spring()->set_link("hand");
  const double before = w.position("left/x");
  w.Repeat(20, lease, command);
  EXPECT_GT(w.position("left/x"), before + 1e-3);
  EXPECT_EQ(w.inputs().springs.at(0).force_limit, 50);
}

TEST(PullCommands, RefusalsSayWhatIsWrong) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  const std::string cube = w.Acquire("cube"), ball = w.Acquire("ball");
  const double inf = std::numeric_limits<double>::infinity();
  ExpectRefused(w.Send(cube, SpringTo({0, 0, inf})), "spring.anchor");
  ExpectRefused(w.Send(ball, SpringTo({0, 0, 1})), "expected the vertex to pull");
  v1::CommandRequest command = SpringTo({0, 0, 1});
  command.mutable_spring()->set_vertex(100000);
  ExpectRefused(w.Send(ball, command), "100000 is not in \"ball\"");
  ExpectRefused(w.Send(cube, command), "\"cube\" is rigid");
  command.mutable_spring()->clear_vertex();
  command.mutable_spring()->set_stiffness(-1);
  ExpectRefused(w.Send(cube, command), "stiffness -1");
  command = ForceOf({1, 0, 0});
  for (int i = 0; i < 3; ++i) command.mutable_wrench()->add_torque(1);
  ExpectRefused(w.Send(ball, command), "wrench.torque");
  command = {};
  for (int i = 0; i < 3; ++i) command.mutable_twist()->add_linear(0);
  ExpectRefused(w.Send(cube, command), "expected spring or wrench");

  v1::AcquireLeaseRequest table;
  table.set_target("table");
  ExpectRefused(w.control().Acquire(table, w.now()).status(), "is FIXED");
}

TEST(GamepadCommands, AJointWithAVelocityActuatorTurnsAtTheRateUpToItsLimit) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  v1::CommandRequest pad = Pad(0, 0, 0, 1);
  pad.mutable_gamepad()->add_axes(1);
  w.Repeat(40, lease, pad);
  EXPECT_NEAR(w.target("left/spin"), 3, 1e-12);
  pad.mutable_gamepad()->add_axes(1);
  w.Repeat(40, lease, pad);
  EXPECT_NEAR(w.target("left/spin"), 8, 1e-12);

  // it ramps to rest 100 ms after the last command
  w.Step(60);
  EXPECT_EQ(w.target("left/spin"), 0);
}

TEST(GamepadCommands, MoveWhatTheProfileSaysWhileTheHoldButtonIsPressed) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  w.Repeat(50, lease, Pad(1, 0, 0.6, 1));
  const auto& twist = w.inputs().twists.at(0);
  EXPECT_NEAR(twist.linear_W.x(), 0.2, 1e-12);
  EXPECT_EQ(twist.linear_W.y(), 0);
  // half of the range beyond the dead zone closes at half the rate
  const double before = w.target("left/left");
  w.Repeat(10, lease, Pad(1, 0, 0.6, 1));
  EXPECT_NEAR(w.target("left/left") - before, 0.5 * 0.02 * 0.1, 1e-9);

  // within the dead zone nothing moves, and without the button everything comes to rest
  w.Repeat(20, lease, Pad(0.19, -0.19, 0, 1));
  EXPECT_TRUE(w.inputs().twists.at(0).linear_W.isZero(0));
  w.Repeat(20, lease, Pad(1, 1, 1, 1));
  EXPECT_NEAR(w.inputs().twists.at(0).linear_W.y(), -0.2, 1e-12);
  w.Repeat(20, lease, Pad(1, 1, 1, 0));
  EXPECT_TRUE(w.inputs().twists.at(0).linear_W.isZero(0));
  const double rest = w.target("left/left");
  w.Repeat(10, lease, Pad(1, 1, 1, 0));
  EXPECT_EQ(w.target("left/left"), rest);
}

TEST(GamepadCommands, StopAtTheLimitsOfAJointAndLapse) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  w.Repeat(250, lease, Pad(0, 0, 1, 1));
  EXPECT_NEAR(w.target("left/left"), 0.03, 1e-6);
  EXPECT_LE(w.target("left/left"), 0.03);

  w.Repeat(20, lease, Pad(1, 0, 0, 1));
  w.Step(20);
  EXPECT_TRUE(w.inputs().twists.at(0).linear_W.isZero(0));
}

// A gamepad at rest does not take joints from the goals of a slider.
TEST(GamepadCommands, AtRestLeaveOtherGoalsAlone) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  v1::CommandRequest goal;
  goal.mutable_joint_targets()->add_joints("x");
  goal.mutable_joint_targets()->add_values(0.1);
  ASSERT_TRUE(w.Send(lease, goal).ok());
  w.Repeat(100, lease, Pad(0, 0, 0, 1));
  EXPECT_EQ(w.target("left/x"), 0.1);
}

TEST(GamepadCommands, OfAGroupMoveThatGroupOnly) {
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string jaws = w.Acquire("left/jaws", "bob");
  w.Repeat(20, jaws, Pad(1, 1, 1, 1));
  EXPECT_TRUE(w.inputs().twists.empty());
  EXPECT_GT(w.target("left/left"), 1e-3);
}

TEST(GamepadCommands, RefusalsSayWhatIsWrong) {
  ControlledWorld without(LoadGantryModel());
  ExpectRefused(without.Send(without.Acquire("left"), Pad(0, 0, 0, 0)), "has no profile");
  ControlledWorld w(LoadGantryModel("", kTeleop));
  const std::string lease = w.Acquire("left");
  ExpectRefused(w.Send(lease, Pad(std::numeric_limits<double>::quiet_NaN(), 0, 0, 0)),
                "gamepad.axes");
  v1::CommandRequest many;
  for (int i = 0; i < 18; ++i) many.mutable_gamepad()->add_buttons(0);
  ExpectRefused(w.Send(lease, many), "18 numbers; expected at most 17");
}

TEST(PullCommands, HoldThroughTheStepsOfARequest) {
  ControlledWorld w(LoadTestModel(kBodiesToPull));
  v1::TargetCommand command;
  command.set_target("cube");
  for (const double x : {8.0, 0.0, 0.0}) command.mutable_wrench()->add_force(x);
  const auto inputs = w.control().Hold({command}, w.now());
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(w.world().Step((*inputs)(w.world().state(), w.now())).ok());
  // 8 kg, 8 N, 0.5 s
  EXPECT_NEAR(physics::CalcCenterOfMassVelocity(w.model(), w.world().state(), 1).x(), 0.5, 1e-5);
}

}  // namespace
}  // namespace pliant::server
