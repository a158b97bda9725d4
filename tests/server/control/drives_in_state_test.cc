// The State contains all that the drives need to continue: requests repeat bit for bit from a state
// that was saved in motion, whatever happened before and on any server.

#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "server/control/world_control.h"
#include "tests/server/host/robot_scene.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

v1::TargetCommand DriveAt(const std::string& target, const std::string& controller, double speed) {
  v1::TargetCommand command;
  command.set_target(target);
  command.set_controller(controller);
  for (const double v : {speed, 0.1, 0.0}) command.mutable_twist()->add_linear(v);
  for (const double v : {0.0, 0.0, 1.0}) command.mutable_twist()->add_angular(v);
  return command;
}

v1::TargetCommand SetJoint(const std::string& joint, double value) {
  v1::TargetCommand command;
  command.set_target("right");
  command.mutable_joint_targets()->add_joints(joint);
  command.mutable_joint_targets()->add_values(value);
  return command;
}

// A body and a tool on their way, a position that is being approached, a rate, an effort, gains.
std::vector<v1::TargetCommand> StartEverything() {
  std::vector<v1::TargetCommand> commands{DriveAt("paddle", "", 0.4), DriveAt("left", "tool", 0.2),
                                          SetJoint("x", 0.4), SetJoint("spin", 3),
                                          SetJoint("motor", 1)};
  v1::Gains& gains = *commands.emplace_back().mutable_gains();
  commands.back().set_target("right");
  gains.add_joints("y");
  gains.add_stiffness(5000);
  return commands;
}

// A world and its control, as one server has them.
struct LockstepServer {
  explicit LockstepServer(std::shared_ptr<const physics::Model> model)
      : world(model), control(model) {}

  void Step(int steps, const std::vector<v1::TargetCommand>& commands) {
    const absl::StatusOr<StepInputs> inputs = control.Hold(commands, now);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(world.Step((*inputs)(world.state(), now)).ok());
  }
  std::string hash() const { return physics::HashState(world.state()); }
  double x() const { return physics::CalcBodyPose(world.model(), world.state(), 0).p.x(); }

  physics::World world;
  WorldControl control;
  SteadyTime now = SteadyTime() + std::chrono::hours(1);
};

TEST(DrivesInState, RequestsRepeatAfterARestoreAndInAFork) {
  const auto model = LoadGantryModel();
  LockstepServer original(model);
  original.Step(7, StartEverything());
  const std::string saved = original.world.Save();
  const double saved_x = original.x();

  // every kind of request that may follow: nothing, the same, and something else
  for (const std::vector<v1::TargetCommand>& commands :
       {std::vector<v1::TargetCommand>{}, StartEverything(),
        std::vector<v1::TargetCommand>{DriveAt("paddle", "", -0.3), SetJoint("x", -0.1)}}) {
    LockstepServer fork(model);
    ASSERT_TRUE(fork.world.Restore(saved).ok());
    fork.Step(1, commands);
    EXPECT_GT(fork.x(), saved_x);  // it was in motion
    fork.Step(11, {});

    ASSERT_TRUE(original.world.Restore(saved).ok());
    original.control.Drop(1);
    original.Step(1, commands);
    original.Step(11, {});
    EXPECT_EQ(fork.hash(), original.hash());
  }
}

TEST(DrivesInState, ARestoreDoesNotChangeWhatWouldHaveFollowed) {
  const auto model = LoadGantryModel();
  LockstepServer straight(model), restored(model);
  straight.Step(40, StartEverything());
  restored.Step(13, StartEverything());
  ASSERT_TRUE(restored.world.Restore(restored.world.Save()).ok());
  restored.control.Drop(1);
  restored.Step(27, StartEverything());
  EXPECT_EQ(straight.hash(), restored.hash());
}

TEST(DrivesInState, AWorldThatNobodyDrivesHasNone) {
  LockstepServer server(LoadGantryModel());
  server.Step(5, {});
  EXPECT_TRUE(server.world.state().drives.empty());
  EXPECT_TRUE(server.world.state().gains.empty());
}

// Motion under a lease belongs to its holder: where the lease does not exist it comes to rest, from
// its present velocity.
TEST(DrivesInState, MotionUnderALeaseEndsInARestoredWorldWithoutAJump) {
  const auto model = LoadGantryModel();
  LockstepServer server(model);
  v1::AcquireLeaseRequest acquire;
  acquire.set_target("right");
  const auto lease = server.control.Acquire(acquire, server.now);
  ASSERT_TRUE(lease.ok());
  v1::CommandRequest command;
  command.set_lease_id(lease->lease_id());
  command.set_sequence(1);
  *command.mutable_joint_targets() = SetJoint("x", 0.4).joint_targets();
  ASSERT_TRUE(server.control.Submit(command, server.now).ok());
  server.Step(30, {});
  const int x = physics::FindActuator(*model, "right/x");
  const int body = physics::FindBody(*model, "right/carriage");
  const auto position = [&](const LockstepServer& s) {
    return physics::CalcBodyPose(*model, s.world.state(), body).p.x();
  };
  const double target = server.world.state().controls[x];
  ASSERT_LT(target, 0.2);

  LockstepServer fork(model);
  ASSERT_TRUE(fork.world.Restore(server.world.Save()).ok());
  const double start = position(fork);
  fork.Step(1, {});
  EXPECT_LT(position(fork) - start, 0.4 * 0.01);
  fork.Step(100, {});
  EXPECT_NEAR(position(fork), start, 0.01);
  server.Step(100, {});
  EXPECT_EQ(server.world.state().controls[x], 0.4);
}

// Drives of another layout in a state of another program have no effect; invalid numbers are
// refused.
TEST(DrivesInState, ForeignNumbersEngageNothingOrAreRefused) {
  const auto model = LoadGantryModel();
  LockstepServer server(model);
  server.Step(3, StartEverything());
  physics::State state = server.world.state();
  state.drives.pop_back();
  LockstepServer other(model);
  ASSERT_TRUE(other.world.Restore(physics::SerializeState(state, model->hash)).ok());
  other.Step(1, {});
  EXPECT_TRUE(other.world.state().drives.empty());

  state.drives.assign(state.drives.size(), std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(
      absl::IsInvalidArgument(other.world.Restore(physics::SerializeState(state, model->hash))));
  state.drives.clear();
  state.gains.assign(3, 1);
  EXPECT_TRUE(
      absl::IsInvalidArgument(other.world.Restore(physics::SerializeState(state, model->hash))));
}

}  // namespace
}  // namespace pliant::server
