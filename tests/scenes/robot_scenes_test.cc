// Robots that ship: they hold their pose, grasp, lift, pull, stand and insert.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TEST(IiwaAllegro, HoldsItsPoseUnderGravity) {
  World world = LoadShipped("iiwa_allegro");
  const double shoulder = ReadNumber(world, "shoulder"), elbow = ReadNumber(world, "elbow");
  const Vector3d tool = ReadVector(world, "tool");
  RunUntil(2, &world);
  EXPECT_NEAR(ReadNumber(world, "shoulder"), shoulder, 1e-4);
  EXPECT_NEAR(ReadNumber(world, "elbow"), elbow, 1e-4);
  EXPECT_LT((ReadVector(world, "tool") - tool).norm(), 1e-4);
  // the arm leans forward: its shoulder works against tens of N·m, within what the motor gives
  EXPECT_GT(std::abs(ReadNumber(world, "shoulder_effort")), 10);
  EXPECT_LT(std::abs(ReadNumber(world, "shoulder_effort")), 320);
}

TEST(IiwaAllegro, BallAndCubeLieStill) {
  World world = LoadShipped("iiwa_allegro");
  RunUntil(1.9, &world);
  const Vector3d ball = ReadVector(world, "ball"), cube = ReadVector(world, "cube");
  RunUntil(2, &world);
  EXPECT_LT((ReadVector(world, "ball") - ball).norm(), 1e-4);
  EXPECT_LT((ReadVector(world, "cube") - cube).norm(), 1e-5);
}

TEST(IiwaWsg, LiftsTheCapsuleAndKeepsIt) {
  World world = LoadShipped("iiwa_wsg");
  RunUntil(5.5, &world);
  const Vector3d capsule = ReadVector(world, "capsule"), tool = ReadVector(world, "tool");
  EXPECT_GT(capsule.z(), 0.2);
  // half the motor's force on each finger; the capsule weighs 0.44 N
  const Vector3d grip = ReadVector(world, "grip");
  EXPECT_NEAR(grip.norm(), 20, 0.5);
  RunUntil(6.5, &world);
  const Vector3d slip =
      (ReadVector(world, "capsule") - capsule) - (ReadVector(world, "tool") - tool);
  EXPECT_LT(slip.norm(), 1e-4);
}

TEST(Fetch, WeighsTheTomato) {
  World world = LoadShipped("fetch");
  const double volume = ReadNumber(world, "volume");
  RunUntil(5.5, &world);
  EXPECT_GT(ReadVector(world, "tomato").z(), 0.7);  // carried over the scale
  RunUntil(11, &world);
  // of the meshed ball, 1000 kg/m³
  const double mass = 1000 * volume;
  const double depth = mass * kGravity / 1000;
  EXPECT_NEAR(ReadNumber(world, "pan"), -depth, 0.02 * depth);
  EXPECT_NEAR(ReadNumber(world, "needle"), 200 * depth, 0.02 * 200 * depth);
}

TEST(YumiCabinet, PullsTheDrawerOpen) {
  World world = LoadShipped("yumi_cabinet");
  RunUntil(5, &world);
  EXPECT_NEAR(ReadNumber(world, "drawer"), 0.2, 0.01);
  const double drawer = ReadNumber(world, "drawer");
  RunUntil(5.5, &world);
  EXPECT_NEAR(ReadNumber(world, "drawer"), drawer, 1e-3);
}

TEST(Humanoid, StandsWhereTheOtherFalls) {
  World world = LoadShipped("humanoid");
  const double head = ReadVector(world, "head").z();
  RunUntil(4, &world);
  EXPECT_NEAR(ReadVector(world, "head").z(), head, 0.005);
  EXPECT_LT(ReadVector(world, "fallen_head").z(), 0.4);
}

TEST(BeamInsertion, BeamEndsInTheSlot) {
  World world = LoadShipped("beam_insertion");
  RunUntil(6.5, &world);
  const Vector3d foot = ReadVector(world, "foot"), gripper = ReadVector(world, "gripper");
  EXPECT_LT(foot.z(), 0.13);
  EXPECT_NEAR(foot.x(), 0.65, 0.0012);  // the clearance
  // still between the fingers: 0.465 m below them, less what slipped
  EXPECT_NEAR(gripper.z() - foot.z(), 0.465, 0.005);
}

}  // namespace
}  // namespace pliant::physics
