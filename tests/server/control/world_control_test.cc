#include "server/control/world_control.h"

#include <limits>

#include "gtest/gtest.h"

#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

const SteadyTime kOpened = SteadyTime() + std::chrono::hours(1);

// One world; the test sets the time.
class WorldControlTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::AcquireLeaseRequest request;
    request.set_target("paddle");
    request.set_client("alice");
    const auto lease = control_.Acquire(request, now_);
    ASSERT_TRUE(lease.ok()) << lease.status();
    lease_ = lease->lease_id();
  }

  absl::Status Command(std::uint64_t sequence, double speed) {
    v1::CommandRequest request;
    request.set_lease_id(lease_);
    request.set_sequence(sequence);
    for (const double v : {speed, 0.0, 0.0}) request.mutable_twist()->add_linear(v);
    return control_.Submit(request, now_).status();
  }

  // Advances by a step of 10 ms. Returns the motion of the paddle in x [m], 0 without commands.
  double Advance() {
    const physics::Inputs inputs = control_.Advance(state_, now_);
    now_ += milliseconds(10);
    ++state_.step;
    state_.drives = inputs.drives;
    if (inputs.poses.empty()) return 0;
    const double moved = inputs.poses[0].X_WB.p.x() - last_;
    last_ = inputs.poses[0].X_WB.p.x();
    return moved;
  }

  std::shared_ptr<const physics::Model> model_ = LoadTestModel();
  WorldControl control_{model_};
  physics::State state_ = physics::MakeInitialState(*model_);
  SteadyTime now_ = kOpened;
  std::string lease_;
  double last_ = -0.5;  // last x of the paddle, initially that of the scene [m]
};

TEST_F(WorldControlTest, NothingIsCommandedUntilSomebodyCommands) {
  EXPECT_TRUE(control_.Advance(state_, now_).poses.empty());
}

TEST_F(WorldControlTest, CommandIsHeldForATenthOfASecondThenRampsToRest) {
  ASSERT_TRUE(Command(1, 0.5).ok());
  for (int step = 0; step <= 10; ++step) EXPECT_GT(Advance(), 0) << step;
  EXPECT_NEAR(Advance(), 0.4 * 0.01, 1e-12);  // ramp of 10 m/s²
  for (int step = 0; step < 4; ++step) Advance();
  for (int step = 0; step < 5; ++step) EXPECT_EQ(Advance(), 0);
}

TEST_F(WorldControlTest, StopRampsToRestAndIsLatched) {
  ASSERT_TRUE(Command(1, 0.5).ok());
  for (int step = 0; step < 6; ++step) Advance();
  control_.Stop();
  EXPECT_TRUE(control_.Describe(now_).stopped);
  EXPECT_NEAR(Advance(), 0.4 * 0.01, 1e-12);
  for (int step = 0; step < 5; ++step) Advance();
  EXPECT_EQ(Advance(), 0);
  EXPECT_EQ(Command(2, 0.5).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Advance(), 0);

  // commands from before the stop are not resumed
  control_.Resume();
  EXPECT_EQ(Advance(), 0);
  EXPECT_TRUE(Command(3, 0.5).ok());
  EXPECT_GT(Advance(), 0);
}

TEST_F(WorldControlTest, TakeoverEndsTheMotionOfTheOneBefore) {
  ASSERT_TRUE(Command(1, 0.5).ok());
  for (int step = 0; step < 6; ++step) Advance();
  v1::AcquireLeaseRequest request;
  request.set_target("paddle");
  request.set_client("bob");
  request.set_takeover(true);
  ASSERT_TRUE(control_.Acquire(request, now_).ok());
  EXPECT_NEAR(Advance(), 0.4 * 0.01, 1e-12);
}

TEST_F(WorldControlTest, ResetDropsMotionAndTargets) {
  ASSERT_TRUE(Command(1, 0.5).ok());
  Advance();
  state_ = physics::MakeInitialState(*model_);
  control_.Drop(1);
  EXPECT_TRUE(control_.Advance(state_, now_).poses.empty());
}

// The velocity of the motion is in the state, so it does not end with a jump.
TEST_F(WorldControlTest, MotionRampsToRestAfterAPause) {
  ASSERT_TRUE(Command(1, 0.5).ok());
  for (int step = 0; step < 6; ++step) Advance();
  control_.Drop(0);
  EXPECT_NEAR(Advance(), 0.4 * 0.01, 1e-12);
  for (int step = 0; step < 5; ++step) Advance();
  EXPECT_EQ(Advance(), 0);
}

TEST_F(WorldControlTest, EchoNamesOwnerSequenceAndStep) {
  ControlStatus status = control_.Describe(now_);
  ASSERT_EQ(status.commands.size(), 1u);
  EXPECT_EQ(status.commands[0].client, "alice");
  EXPECT_EQ(status.commands[0].target, "paddle");
  EXPECT_EQ(status.commands[0].sequence, 0u);
  state_.step = 41;
  ASSERT_TRUE(Command(9, 0.1).ok());
  Advance();
  ASSERT_TRUE(Command(10, 0.1).ok());  // not applied yet
  status = control_.Describe(now_);
  EXPECT_EQ(status.commands[0].sequence, 9u);
  EXPECT_EQ(status.commands[0].applied_step, 42);
  EXPECT_TRUE(control_.Describe(now_ + milliseconds(1000)).commands.empty());
}

TEST_F(WorldControlTest, LatencyIsThatOfTheFirstStepWhichUsedTheCommand) {
  ASSERT_TRUE(Command(1, 0.1).ok());
  now_ += milliseconds(7);
  Advance();
  Advance();
  EXPECT_DOUBLE_EQ(control_.Describe(now_).commands[0].latency, 0.007);
}

TEST_F(WorldControlTest, WhatIsNotFiniteOrNotThreeNumbersIsRefused) {
  EXPECT_EQ(Command(1, std::numeric_limits<double>::quiet_NaN()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Command(1, std::numeric_limits<double>::infinity()).code(),
            absl::StatusCode::kInvalidArgument);
  v1::CommandRequest request;
  request.set_lease_id(lease_);
  request.set_sequence(1);
  EXPECT_EQ(control_.Submit(request, now_).status().code(), absl::StatusCode::kInvalidArgument);
  request.mutable_twist()->add_linear(1);
  EXPECT_EQ(control_.Submit(request, now_).status().code(), absl::StatusCode::kInvalidArgument);
  for (const double v : {0.0, 0.0, 0.0}) request.mutable_pose()->add_position(v);
  for (int i = 0; i < 4; ++i) request.mutable_pose()->add_quaternion(0);
  EXPECT_EQ(control_.Submit(request, now_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(control_.Advance(state_, now_).poses.empty());
}

}  // namespace
}  // namespace pliant::server
