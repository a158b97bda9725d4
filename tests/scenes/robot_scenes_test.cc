// The shipped robots hold their pose, grasp, lift, pull, stand and insert.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TEST(IiwaAllegro, HoldsItsPoseUnderGravity) {
  World world = LoadShipped("iiwa_allegro");
  const double shoulder = ReadNumber(world, "shoulder"), elbow = ReadNumber(world, "elbow");
  const Vector3d tool = ReadVector(world, "tool");
  RunUntil(2, &world);
  // gravity is compensated up to rounding
  EXPECT_NEAR(ReadNumber(world, "shoulder"), shoulder, 1e-9);
  EXPECT_NEAR(ReadNumber(world, "elbow"), elbow, 1e-9);
  EXPECT_LT((ReadVector(world, "tool") - tool).norm(), 1e-9);
  // the arm leans forward: the shoulder torque is tens of N·m, within the motor's limit
  EXPECT_GT(std::abs(ReadNumber(world, "shoulder_effort")), 10);
  EXPECT_LT(std::abs(ReadNumber(world, "shoulder_effort")), 320);
}

TEST(IiwaAllegro, BallAndCubeLieStill) {
  World world = LoadShipped("iiwa_allegro");
  RunUntil(1.9, &world);
  const Vector3d ball = ReadVector(world, "ball"), cube = ReadVector(world, "cube");
  RunUntil(2, &world);
  // the ball rolls from one facet of its mesh to the next, at millimetres per second
  EXPECT_LT((ReadVector(world, "ball") - ball).norm(), 1e-3);
  EXPECT_LT((ReadVector(world, "cube") - cube).norm(), 1e-9);
}

TEST(IiwaWsg, LiftsTheCapsuleAndKeepsIt) {
  World world = LoadShipped("iiwa_wsg");
  RunUntil(6, &world);
  const Vector3d capsule = ReadVector(world, "capsule"), tool = ReadVector(world, "tool");
  EXPECT_GT(capsule.z(), 0.2);
  // half the motor's force on each finger; the capsule weighs 0.44 N
  const Vector3d grip = ReadVector(world, "grip");
  EXPECT_NEAR(grip.norm(), 20, 0.5);
  RunUntil(7, &world);
  const Vector3d slip =
      (ReadVector(world, "capsule") - capsule) - (ReadVector(world, "tool") - tool);
  EXPECT_LT(slip.norm(), 1e-5);
}

TEST(Fetch, DrivesUpToTheTable) {
  World world = LoadShipped("fetch");
  RunUntil(3, &world);
  // wheels of 0.06 m turn by 5 rad; they lag behind their targets by the torque that moves 121 kg
  EXPECT_NEAR(ReadVector(world, "base").x(), 0, 0.002);
  EXPECT_NEAR(ReadVector(world, "base").y(), 0, 1e-6);
}

TEST(Fetch, WeighsTheTomato) {
  World world = LoadShipped("fetch");
  const double volume = ReadNumber(world, "volume");
  RunUntil(8.2, &world);
  EXPECT_GT(ReadVector(world, "tomato").z(), 0.75);  // carried over the scale
  EXPECT_NEAR(ReadVector(world, "grip").norm(), 20, 2);
  RunUntil(13, &world);
  // weight of the meshed ball, 1000 kg/m³, on 1000 N/m
  const double depth = 1000 * volume * kGravity / 1000;
  EXPECT_NEAR(ReadNumber(world, "pan"), -depth, 1e-3 * depth);
  EXPECT_NEAR(ReadNumber(world, "needle"), 200 * depth, 1e-3 * 200 * depth);
}

// The fingers, 26 mm high, press their edges into the tomato, which holds it from a friction of
// 0.02.
TEST(Fetch, SlipperyFingersLeaveTheTomatoOnTheTable) {
  World world = LoadShipped("fetch", {"contact.friction=0.005"});
  RunUntil(8.2, &world);
  EXPECT_LT(ReadVector(world, "tomato").z(), 0.65);
  EXPECT_LT(ReadVector(world, "grip").norm(), 1e-9);
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

TEST(BeamInsertion, BeamComesOutBelowTheSlot) {
  World world = LoadShipped("beam_insertion");
  const double bend = MaximumUntil(7.2, "bend", &world);
  EXPECT_LT(bend, 1e-3);
  const Vector3d foot = ReadVector(world, "foot"), gripper = ReadVector(world, "gripper");
  // the slot ends 0.22 m above the floor and is 42.2 mm wide, the beam 40 mm
  EXPECT_NEAR(foot.z(), 0.22 - 0.115, 0.002);
  EXPECT_NEAR(foot.x(), 0.6508, 0.0011);
  // the beam has not slipped in the fingers
  EXPECT_NEAR(gripper.z() - foot.z(), 0.465, 1e-3);
}

}  // namespace
}  // namespace pliant::physics
