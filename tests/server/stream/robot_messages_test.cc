#include "server/stream/robot_messages.h"

#include <cmath>

#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "server/stream/frame_encoder.h"
#include "server/stream/messages.h"
#include "tests/server/host/robot_scene.h"

namespace pliant::server {
namespace {

TEST(RobotDescription, NamesJointsWithTheirLimitsAndDrives) {
  const auto model = LoadGantryModel();
  const v1::WorldDescription world = DescribeModel("w", *model);
  ASSERT_EQ(world.robots_size(), 2);
  EXPECT_EQ(world.robots(0).name(), "left");
  EXPECT_EQ(world.robots(1).name(), "right");
  const v1::RobotDescription& robot = world.robots(0);
  ASSERT_EQ(robot.joints_size(), 8);
  const v1::JointDescription& x = robot.joints(0);
  EXPECT_EQ(x.name(), "x");
  EXPECT_TRUE(x.is_prismatic());
  EXPECT_EQ(x.lower(), -0.5);
  EXPECT_EQ(x.upper(), 0.5);
  EXPECT_EQ(x.velocity_limit(), 0.4);
  EXPECT_EQ(x.effort_limit(), 500);
  EXPECT_EQ(x.drive(), v1::JointDescription::DRIVE_POSITION);
  EXPECT_EQ(world.rigid_bodies(x.child()).name(), "left/carriage");

  std::map<std::string, const v1::JointDescription*> joints;
  for (const v1::JointDescription& joint : robot.joints()) joints[joint.name()] = &joint;
  EXPECT_EQ(joints.at("left")->effort_limit(), 20);  // that of the gripper
  EXPECT_FALSE(joints.at("spin")->is_prismatic());
  EXPECT_FALSE(joints.at("spin")->has_lower());
  EXPECT_EQ(joints.at("spin")->drive(), v1::JointDescription::DRIVE_VELOCITY);
  EXPECT_EQ(joints.at("motor")->drive(), v1::JointDescription::DRIVE_TORQUE);
  EXPECT_EQ(joints.at("sway")->drive(), v1::JointDescription::DRIVE_UNSPECIFIED);
}

TEST(RobotDescription, NamesLinksAndWhatControllersMove) {
  const v1::WorldDescription world = DescribeModel("w", *LoadGantryModel());
  const v1::RobotDescription& robot = world.robots(1);
  ASSERT_EQ(robot.links_size(), 9);
  EXPECT_EQ(world.rigid_bodies(robot.links(0)).name(), "right/rail");
  ASSERT_EQ(robot.controllers_size(), 2);
  const v1::ControllerDescription& tool = robot.controllers(0);
  EXPECT_EQ(tool.name(), "tool");
  EXPECT_EQ(tool.kind(), v1::ControllerDescription::KIND_DIFFERENTIAL_IK);
  EXPECT_EQ(world.rigid_bodies(tool.body()).name(), "right/hand");
  EXPECT_EQ(tool.joints_size(), 3);
  std::vector<std::string> carried;
  for (const std::uint32_t body : tool.carried())
    carried.push_back(world.rigid_bodies(body).name());
  EXPECT_EQ(carried, (std::vector<std::string>{"right/hand", "right/left_jaw", "right/right_jaw"}));
  EXPECT_EQ(robot.controllers(1).name(), "jaws");
  EXPECT_EQ(robot.controllers(1).kind(), v1::ControllerDescription::KIND_GRIPPER);
  EXPECT_EQ(robot.controllers(1).joints_size(), 2);
}

TEST(RobotDescription, ShowsVisualsInTheirColours) {
  const v1::WorldDescription world = DescribeModel("w", *LoadGantryModel());
  const v1::RigidDescription& rail = world.rigid_bodies(world.robots(0).links(0));
  EXPECT_EQ(rail.shapes_size(), 0);
  ASSERT_EQ(rail.visuals_size(), 1);
  ASSERT_EQ(rail.visuals(0).color_size(), 4);
  EXPECT_EQ(rail.visuals(0).color(2), 0.9);
  EXPECT_EQ(rail.visuals(0).color(3), 0.5);
  EXPECT_EQ(rail.visuals(0).box().size(0), 1);
  const v1::RigidDescription& hand = world.rigid_bodies(world.robots(0).links(3));
  EXPECT_EQ(hand.name(), "left/hand");
  EXPECT_EQ(hand.shapes_size(), 1);
  EXPECT_EQ(hand.visuals_size(), 1);
}

TEST(JointFrame, TellsPositionsTargetsAndEffortsInTheOrderOfTheDescription) {
  const auto model = LoadGantryModel();
  physics::World world(model);
  const int spin = physics::FindActuator(*model, "right/spin");
  const int x = physics::FindActuator(*model, "left/x");
  physics::Inputs inputs;
  inputs.actuators = {{x, 0.001}, {spin, 2}};
  Published published;
  published.snapshot = world.TakeSnapshot();
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrame(std::make_shared<Published>(published), {})));
  ASSERT_EQ(frame.joints().positions_size(), 16);
  ASSERT_EQ(frame.joints().efforts_size(), 16);  // zeros before the first step

  for (int i = 0; i < 50; ++i) ASSERT_TRUE(world.Step(inputs).ok());
  published.snapshot = world.TakeSnapshot();
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrame(std::make_shared<Published>(published), {})));
  const v1::JointFrame& joints = frame.joints();
  EXPECT_EQ(joints.targets(0), 0.001);
  EXPECT_NEAR(joints.positions(0), 0.001, 1e-4);
  EXPECT_EQ(joints.positions(1), 0);
  EXPECT_NEAR(joints.velocities(8 + 5), 2, 1e-3);
  EXPECT_EQ(joints.targets(8 + 5), 2);
  EXPECT_NEAR(joints.efforts(8 + 5), world.report().efforts[spin], 1e-6);

  // link poses agree with the joint positions
  const v1::WorldDescription description = DescribeModel("w", *model);
  EXPECT_NEAR(frame.rigid(description.robots(0).links(3)).pose(0), joints.positions(0), 1e-12);
}

TEST(JointFrame, IsLeftOutWhereThereIsNoRobot) {
  physics::World world(physics::LoadSceneYaml("bodies: [{name: b, rigid: {motion: FIXED, shapes: "
                                              "[{sphere: {radius: 1}}]}}]\n",
                                              "test.yaml")
                           .model);
  Published published;
  published.snapshot = world.TakeSnapshot();
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrame(std::make_shared<Published>(published), {})));
  EXPECT_FALSE(frame.has_joints());
}

TEST(JointFrame, ShowsActivationsAsTheStressThatTheyExert) {
  const auto model = physics::LoadSceneYaml(R"(
bodies:
  - name: finger
    deformable:
      mesh: {box: {size: [1, 1, 1]}, edge_length: 1}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      activations: [{name: inflate, limit: 50}]
)",
                                            "finger.yaml")
                         .model;
  ASSERT_NE(model, nullptr);
  const v1::WorldDescription description = DescribeModel("w", *model);
  ASSERT_EQ(description.robots_size(), 1);
  EXPECT_EQ(description.robots(0).name(), "finger");
  const v1::JointDescription& joint = description.robots(0).joints(0);
  EXPECT_EQ(joint.name(), "inflate");
  EXPECT_EQ(joint.drive(), v1::JointDescription::DRIVE_ACTIVATION);
  EXPECT_EQ(joint.effort_limit(), 50);

  physics::World world(model);
  physics::Inputs inputs;
  inputs.actuators = {{0, 80}};
  ASSERT_TRUE(world.Step(inputs).ok());
  Published published;
  published.snapshot = world.TakeSnapshot();
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrame(std::make_shared<Published>(published), {})));
  EXPECT_EQ(frame.joints().positions(0), 0);
  EXPECT_EQ(frame.joints().targets(0), 80);
  EXPECT_EQ(frame.joints().efforts(0), 50);
}

}  // namespace
}  // namespace pliant::server
