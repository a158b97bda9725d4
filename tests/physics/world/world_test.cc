#include "physics/world/world.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "physics/world/body_motion.h"
#include "tests/physics/world/small_models.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

std::shared_ptr<const Model> MakeFallingBall() {
  Model model;
  AddGround(&model);
  AddBall(&model, "ball", Vector3d(0, 0, 0.3));
  AddPaddle(&model, {Eigen::Matrix3d::Identity(), Vector3d(1, 0, 1)});
  return Finish(std::move(model));
}

TEST(World, AnUntargetedKinematicBodyKeepsStill) {
  World world(MakeFallingBall());
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(CalcBodyPose(world.model(), world.state(), 2).p, Vector3d(1, 0, 1));
}

TEST(World, ACommandedPoseWinsOverTheScript) {
  Model model;
  const int paddle = AddPaddle(&model, {});
  Script script;
  script.body = paddle;
  script.times = {0};
  script.values = {{5, 5, 5}};
  model.script.push_back(script);
  World world(Finish(std::move(model)));

  ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(CalcBodyPose(world.model(), world.state(), paddle).p, Vector3d(5, 5, 5));
  Inputs inputs;
  inputs.poses.push_back({paddle, {Eigen::Matrix3d::Identity(), Vector3d(1, 2, 3)}});
  ASSERT_TRUE(world.Step(inputs).ok());
  EXPECT_EQ(CalcBodyPose(world.model(), world.state(), paddle).p, Vector3d(1, 2, 3));
}

TEST(World, CommandsThatCannotBeObeyedAreRefusedAndNothingMoves) {
  World world(MakeFallingBall());
  const std::string before = HashState(world.state());

  Inputs to_ball;
  to_ball.poses.push_back({1, {}});
  EXPECT_THAT(std::string(world.Step(to_ball).message()), HasSubstr("\"ball\""));

  Inputs to_nobody;
  to_nobody.forces.push_back({.body = 7});
  EXPECT_EQ(world.Step(to_nobody).code(), absl::StatusCode::kInvalidArgument);

  Inputs not_finite;
  not_finite.forces.push_back({.body = 1, .force_W = Vector3d(NAN, 0, 0)});
  EXPECT_EQ(world.Step(not_finite).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HashState(world.state()), before);
}

TEST(World, AStepThatTurnsNonFiniteLeavesTheStateAndNamesTheBody) {
  World world(MakeFallingBall());
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(world.Step().ok());
  const State before = world.state();

  Inputs inputs;
  inputs.forces.push_back({.body = 1, .force_W = Vector3d(1e308, 1e308, 1e308)});
  inputs.forces.push_back({.body = 1, .force_W = Vector3d(1e308, 1e308, 1e308)});
  const absl::Status status = world.Step(inputs);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(HashState(world.state()), HashState(before));

  const WorldFault fault = MakeFault(world.model(), world.state(), status);
  EXPECT_EQ(fault.body, "ball");
  EXPECT_EQ(fault.place.body, 1);
  EXPECT_EQ(fault.place.block, world.model().bodies[1].block);
  EXPECT_EQ(fault.step, 4);

  // the world continues as if the faulty step had not been requested
  EXPECT_TRUE(world.Step().ok());
}

TEST(World, AFaultNamesItsBodyEvenWhereTheNameOfAnotherStandsInTheMessage) {
  Model model;
  AddGround(&model);
  const int tangent = AddBall(&model, "tangent", Vector3d(0, 0, 0.3));
  const int ball = AddBall(&model, "ball", Vector3d(1, 0, 0.3));
  World world(Finish(std::move(model)));
  const absl::Status error = FailAtBlock(world.model(), world.model().bodies[ball].block,
                                         absl::InternalError("its \"tangent\" is not finite"));
  const WorldFault fault = MakeFault(world.model(), world.state(), error);
  EXPECT_EQ(fault.body, "ball");
  EXPECT_EQ(fault.place.body, ball);

  const absl::Status of_pair = FailAtContact(world.model(), tangent, ball,
                                             absl::InternalError("their contact is not finite"));
  EXPECT_THAT(std::string(of_pair.message()), HasSubstr("\"tangent\" and \"ball\""));
  EXPECT_EQ(MakeFault(world.model(), world.state(), of_pair).place.other, ball);
  // an error that comes from no step has no place
  EXPECT_EQ(MakeFault(world.model(), world.state(), absl::InternalError("no memory")).body, "");
}

TEST(World, ResetGoesBackToTheStart) {
  World world(MakeFallingBall());
  const std::string start = HashState(world.state());
  for (int k = 0; k < 30; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_NE(HashState(world.state()), start);
  world.Reset();
  EXPECT_EQ(HashState(world.state()), start);
  EXPECT_TRUE(world.report().contacts.empty());
}

TEST(World, ARunCutInTwoEndsInTheSameBits) {
  World whole(MakeFallingBall()), first(MakeFallingBall()), second(MakeFallingBall());
  for (int k = 0; k < 40; ++k) ASSERT_TRUE(whole.Step().ok());
  for (int k = 0; k < 23; ++k) ASSERT_TRUE(first.Step().ok());
  ASSERT_TRUE(second.Restore(first.Save()).ok());
  for (int k = 0; k < 17; ++k) ASSERT_TRUE(second.Step().ok());
  EXPECT_EQ(HashState(second.state()), HashState(whole.state()));
}

TEST(World, BytesOfAnotherModelAreRefusedAndNothingChanges) {
  World world(MakeFallingBall());
  Model other = *MakeFallingBall();
  other.hash = "ffeeddccbbaa99887766554433221100";
  const World stranger(std::make_shared<const Model>(std::move(other)));
  const std::string before = HashState(world.state());
  EXPECT_EQ(world.Restore(stranger.Save()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world.Restore("nonsense").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HashState(world.state()), before);
}

TEST(World, ASnapshotOutlivesTheStepsAfterIt) {
  World world(MakeFallingBall());
  const std::shared_ptr<const Snapshot> snapshot = world.TakeSnapshot();
  const std::string hash = HashState(world.state());
  for (int k = 0; k < 5; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(HashState(snapshot->state), hash);
}

}  // namespace
}  // namespace pliant::physics
