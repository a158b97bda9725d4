// Commands that hold through the steps of a request, without a lease and for any duration.

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

v1::TargetCommand MoveBody(const std::string& target, double speed) {
  v1::TargetCommand command;
  command.set_target(target);
  for (const double v : {speed, 0.0, 0.0}) command.mutable_twist()->add_linear(v);
  return command;
}

// The paddle and both robots, commanded in every way.
std::vector<v1::TargetCommand> CommandEverything() {
  std::vector<v1::TargetCommand> commands{MoveBody("paddle", 0.3), MoveBody("left", 0.2)};
  commands[1].set_controller("tool");
  v1::TargetCommand& joints = commands.emplace_back();
  joints.set_target("right");
  for (const auto& [joint, value] : {std::pair{"x", 0.2}, {"spin", 3.0}, {"motor", 1.0}}) {
    joints.mutable_joint_targets()->add_joints(joint);
    joints.mutable_joint_targets()->add_values(value);
  }
  v1::TargetCommand& grip = commands.emplace_back();
  grip.set_target("right");
  grip.mutable_gripper()->set_controller("jaws");
  grip.mutable_gripper()->set_position(0.02);
  return commands;
}

// A world in lockstep; `pace` is the time between two steps, and between two requests a hundred
// times that.
class Lockstep {
 public:
  explicit Lockstep(milliseconds pace) : pace_(pace) {}

  void Step(int steps, const std::vector<v1::TargetCommand>& commands) {
    const absl::StatusOr<StepInputs> inputs = control_.Hold(commands, now_);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    for (int i = 0; i < steps; ++i, now_ += pace_)
      ASSERT_TRUE(world_.Step((*inputs)(world_.state(), now_)).ok());
    now_ += 100 * pace_;
  }

  WorldControl& control() { return control_; }
  const physics::State& state() const { return world_.state(); }
  SteadyTime now() const { return now_; }

 private:
  const std::shared_ptr<const physics::Model> model_ = LoadGantryModel();
  physics::World world_{model_};
  WorldControl control_{model_};
  const milliseconds pace_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
};

TEST(HeldCommands, GiveTheSameStatesWhateverTimeTheStepsTake) {
  std::vector<std::string> hashes;
  for (const int pace : {0, 1, 150, 5000}) {
    Lockstep lockstep{milliseconds(pace)};
    lockstep.Step(20, CommandEverything());
    lockstep.Step(5, {});
    lockstep.Step(10, {MoveBody("left", -0.1)});
    lockstep.Step(10, {});
    hashes.push_back(physics::HashState(lockstep.state()));
  }
  for (const std::string& hash : hashes) EXPECT_EQ(hash, hashes[0]);
}

TEST(HeldCommands, MoveTheirTargetsAndEndWithTheirSteps) {
  Lockstep lockstep{milliseconds(0)};
  const auto model = LoadGantryModel();
  const auto x = [&](const char* body) {
    return physics::CalcBodyPose(*model, lockstep.state(), physics::FindBody(*model, body)).p.x();
  };
  const double paddle = x("paddle"), hand = x("left/hand");
  lockstep.Step(30, CommandEverything());
  EXPECT_GT(x("paddle"), paddle + 0.05);
  EXPECT_GT(x("left/hand"), hand + 0.02);

  // both ramp to rest although no time passes
  lockstep.Step(100, {});
  const double rest = x("paddle"), hand_rest = x("left/hand");
  lockstep.Step(20, {});
  EXPECT_EQ(x("paddle"), rest);
  EXPECT_NEAR(x("left/hand"), hand_rest, 1e-4);
}

TEST(HeldCommands, AreRefusedOnATargetThatAClientDrives) {
  Lockstep lockstep{milliseconds(1)};
  v1::AcquireLeaseRequest request;
  request.set_target("paddle");
  request.set_client("alice");
  ASSERT_TRUE(lockstep.control().Acquire(request, lockstep.now()).ok());
  const auto held = [&](SteadyTime now) {
    return lockstep.control().Hold({MoveBody("paddle", 0.1)}, now).status();
  };
  EXPECT_TRUE(absl::IsFailedPrecondition(held(lockstep.now())));
  EXPECT_NE(held(lockstep.now()).message().find("alice"), std::string::npos);
  EXPECT_TRUE(held(lockstep.now() + LeaseTable::kLeaseTime).ok());
}

TEST(HeldCommands, NameWhatIsWrong) {
  Lockstep lockstep{milliseconds(1)};
  const auto refuse = [&](const std::vector<v1::TargetCommand>& commands, const char* text) {
    const absl::Status status = lockstep.control().Hold(commands, lockstep.now()).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(text), std::string::npos) << status;
  };
  refuse({MoveBody("nothing", 1)}, "there is no body or robot \"nothing\"");
  refuse({MoveBody("paddle", 1), MoveBody("paddle", 2)}, "\"paddle\" is commanded twice");
  refuse({MoveBody("paddle", std::numeric_limits<double>::infinity())}, "not a finite number");
  lockstep.control().Stop();
  refuse({MoveBody("paddle", 1)}, "ResumeWorld");
}

}  // namespace
}  // namespace pliant::server
