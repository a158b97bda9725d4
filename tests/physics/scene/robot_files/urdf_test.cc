#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/spatial/trig.h"
#include "tests/physics/scene/robot_files/robot_text.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A body of 2 kg for each name.
std::string Links(std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    text += absl::StrCat("<link name=\"", name,
                         "\"><inertial><mass value=\"2\"/>"
                         "<inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></inertial></link>\n");
  }
  return text;
}
std::string Robot(const std::string& body) {
  return "<robot name=\"r\">\n" + body + "</robot>\n";
}
std::string Joint(const std::string& name, const std::string& type, const std::string& parent,
                  const std::string& child, const std::string& more = "") {
  return absl::StrCat("<joint name=\"", name, "\" type=\"", type, "\"><parent link=\"", parent,
                      "\"/><child link=\"", child, "\"/>", more, "</joint>\n");
}

TEST(Urdf, TheRootHangsOnNothing) {
  const RobotDescription robot = ReadGood(Robot(Links({"base"})));
  EXPECT_EQ(robot.name, "r");
  EXPECT_EQ(robot.format, "URDF");
  ASSERT_EQ(robot.links.size(), 1u);
  EXPECT_EQ(robot.links[0].parent, -1);
  EXPECT_EQ(robot.links[0].joint.type, JointType::kFree);
  EXPECT_EQ(robot.links[0].joint.name, "");
  EXPECT_EQ(robot.links[0].mass, 2);
  EXPECT_EQ(robot.links[0].line, 2);
}

TEST(Urdf, JointsHaveTheirTypesAndLimits) {
  const RobotDescription robot = ReadGood(
      Robot(Links({"a", "b", "c", "d", "e", "f", "g"}) +
            Joint("r", "revolute", "a", "b",
                  "<origin xyz=\"1 2 3\" rpy=\"0 0 1.5707963267948966\"/><axis xyz=\"0 0 1\"/>"
                  "<limit lower=\"-1\" upper=\"2\" effort=\"30\" velocity=\"4\" "
                  "drake:acceleration=\"5\"/><dynamics damping=\"0.3\" friction=\"0.4\"/>") +
            Joint("c", "continuous", "b", "c",
                  "<limit lower=\"-1\" upper=\"2\" effort=\"30\" velocity=\"4\"/>") +
            Joint("p", "prismatic", "c", "d",
                  "<axis xyz=\"0 1 0\"/><limit upper=\"0.5\" effort=\"1\" velocity=\"1\"/>") +
            Joint("x", "fixed", "d", "e") + Joint("f", "floating", "e", "f") +
            Joint("l", "planar", "f", "g", "<axis xyz=\"0 0 1\"/>")));
  const physics::Joint& r = JointOf(robot, "r");
  EXPECT_EQ(r.type, JointType::kRevolute);
  EXPECT_EQ(r.axis, Vector3d::UnitZ());
  EXPECT_EQ(r.X_PF.p, Vector3d(1, 2, 3));
  EXPECT_LT((r.X_PF.R * Vector3d::UnitX() - Vector3d::UnitY()).norm(), kUlps);
  EXPECT_EQ(r.X_BM.p, Vector3d::Zero());
  EXPECT_EQ(r.lower, -1);
  EXPECT_EQ(r.upper, 2);
  EXPECT_EQ(r.effort_limit, 30);
  EXPECT_EQ(r.velocity_limit, 4);
  EXPECT_EQ(r.acceleration_limit, 5);
  EXPECT_EQ(r.damping, 0.3);
  EXPECT_EQ(r.friction_loss, 0.4);
  // a continuous joint has no limits, and turns about x by default
  const physics::Joint& c = JointOf(robot, "c");
  EXPECT_EQ(c.upper, kInfinity);
  EXPECT_EQ(c.axis, Vector3d::UnitX());
  EXPECT_EQ(c.effort_limit, 30);
  // a missing value of a pair is 0
  const physics::Joint& p = JointOf(robot, "p");
  EXPECT_EQ(p.type, JointType::kPrismatic);
  EXPECT_EQ(p.lower, 0);
  EXPECT_EQ(p.upper, 0.5);
  EXPECT_EQ(JointOf(robot, "x").type, JointType::kFixed);
  EXPECT_EQ(JointOf(robot, "f").type, JointType::kFree);
  EXPECT_EQ(JointOf(robot, "l").type, JointType::kPlanar);
}

TEST(Urdf, DrakesJointsNeedNoDeclaredPrefix) {
  const auto joint = [](const char* name, const char* type, const char* parent, const char* child,
                        const char* more) {
    return absl::StrCat("<drake:joint name=\"", name, "\" type=\"", type, "\"><parent link=\"",
                        parent, "\"/><child link=\"", child, "\"/>", more, "</drake:joint>\n");
  };
  const RobotDescription robot =
      ReadGood(Robot(Links({"a", "b", "c", "d"}) + joint("ball", "ball", "a", "b", "") +
                     joint("cross", "universal", "b", "c", "") +
                     joint("screw", "screw", "c", "d",
                           "<axis xyz=\"0 0 1\"/><drake:screw_thread_pitch value=\"0.02\"/>")));
  EXPECT_EQ(JointOf(robot, "ball").type, JointType::kBall);
  EXPECT_EQ(JointOf(robot, "cross").type, JointType::kUniversal);
  EXPECT_EQ(JointOf(robot, "cross").axis, Vector3d::UnitX());
  EXPECT_EQ(JointOf(robot, "cross").axis2, Vector3d::UnitY());
  EXPECT_EQ(JointOf(robot, "screw").type, JointType::kScrew);
  EXPECT_EQ(JointOf(robot, "screw").pitch, 0.02);
}

TEST(Urdf, LinksStandBehindTheirParents) {
  // the file lists children before parents, and their joints likewise
  const RobotDescription robot = ReadGood(Robot(
      Links({"c", "b", "a"}) + Joint("bc", "fixed", "b", "c") + Joint("ab", "fixed", "a", "b")));
  ASSERT_EQ(robot.links.size(), 3u);
  EXPECT_EQ(robot.links[0].name, "a");
  EXPECT_EQ(robot.links[1].name, "b");
  EXPECT_EQ(robot.links[2].name, "c");
  EXPECT_EQ(robot.links[1].parent, 0);
  EXPECT_EQ(robot.links[2].parent, 1);
}

TEST(Urdf, InertiaIsTurnedWithItsOrigin) {
  // a rotation by 90° about z swaps x and y
  const RobotDescription robot = ReadGood(Robot(
      "<link name=\"a\"><inertial><origin xyz=\"0.1 0.2 0.3\" rpy=\"0 0 1.5707963267948966\"/>"
      "<mass value=\"3\"/><inertia ixx=\"1\" iyy=\"2\" izz=\"2.5\" ixy=\"0\" ixz=\"0\" "
      "iyz=\"0\"/></inertial></link>"));
  const RobotLink& link = robot.links[0];
  EXPECT_EQ(link.mass, 3);
  EXPECT_EQ(link.p_BoBcm, Vector3d(0.1, 0.2, 0.3));
  const Matrix3d expected = Vector3d(2, 1, 2.5).asDiagonal();
  EXPECT_LT((link.inertia - expected).norm(), 4 * kUlps);
}

TEST(Urdf, MimicsAreCouplers) {
  const RobotDescription robot = ReadGood(Robot(
      Links({"a", "b", "c"}) +
      Joint("m", "continuous", "a", "c", "<mimic joint=\"l\" multiplier=\"-2\" offset=\"0.5\"/>") +
      Joint("l", "continuous", "a", "b")));
  ASSERT_EQ(robot.couplers.size(), 1u);
  // q_m + 2 q_l = 0.5
  const RobotCoupler& coupler = robot.couplers[0];
  ASSERT_EQ(coupler.terms.size(), 2u);
  EXPECT_EQ(robot.links[coupler.terms[0].first].name, "c");
  EXPECT_EQ(coupler.terms[0].second, 1);
  EXPECT_EQ(robot.links[coupler.terms[1].first].name, "b");
  EXPECT_EQ(coupler.terms[1].second, 2);
  EXPECT_EQ(coupler.offset, 0.5);
}

TEST(Urdf, TransmissionsDriveJoints) {
  const RobotDescription robot = ReadGood(
      Robot(Links({"a", "b"}) +
            Joint("j", "revolute", "a", "b",
                  "<limit lower=\"-1\" upper=\"1\" effort=\"12\" velocity=\"1\"/>") +
            "<transmission name=\"t\"><type>transmission_interface/SimpleTransmission</type>"
            "<joint name=\"j\"/><actuator name=\"motor\"><mechanicalReduction>50"
            "</mechanicalReduction><drake:rotor_inertia value=\"0.0002\"/></actuator>"
            "</transmission>"));
  ASSERT_EQ(robot.actuators.size(), 1u);
  const RobotActuator& actuator = robot.actuators[0];
  EXPECT_EQ(actuator.name, "motor");
  EXPECT_EQ(actuator.kind, RobotActuator::Kind::kTorque);
  EXPECT_EQ(robot.links[actuator.link].joint.name, "j");
  // commands are efforts on the joint, so the reduction applies to the rotor only
  EXPECT_EQ(actuator.gear, 1);
  EXPECT_EQ(actuator.effort_limit, 12);
  EXPECT_EQ(JointOf(robot, "j").rotor_inertia, 0.0002);
  EXPECT_EQ(JointOf(robot, "j").gear_ratio, 50);
}

TEST(Urdf, ShapesAndMaterials) {
  const RobotDescription robot = ReadGood(Robot(
      "<material name=\"red\"><color rgba=\"1 0 0 1\"/></material>"
      "<link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>"
      "</inertial>"
      "<visual><geometry><box size=\"1 2 3\"/></geometry><material name=\"red\"/></visual>"
      "<collision name=\"c\"><origin xyz=\"0 0 1\"/><geometry><cylinder radius=\"0.1\" "
      "length=\"0.4\"/></geometry></collision>"
      "<collision><geometry><sphere radius=\"0.2\"/></geometry></collision>"
      "<collision><geometry><drake:capsule radius=\"0.1\" length=\"0.3\"/></geometry></collision>"
      "<collision><geometry><drake:ellipsoid a=\"0.1\" b=\"0.2\" c=\"0.3\"/></geometry>"
      "<drake:proximity_properties><drake:mu_dynamic value=\"0.7\"/>"
      "<drake:point_contact_stiffness value=\"5000\"/></drake:proximity_properties></collision>"
      "</link>"));
  const RobotLink& link = robot.links[0];
  ASSERT_EQ(link.visuals.size(), 1u);
  EXPECT_EQ(std::get<Box>(link.visuals[0].shape.geometry).half_size, Vector3d(0.5, 1, 1.5));
  EXPECT_EQ(link.visuals[0].color, Eigen::Vector4d(1, 0, 0, 1));
  ASSERT_EQ(link.collisions.size(), 4u);
  EXPECT_EQ(link.collisions[0].name, "c");
  EXPECT_EQ(link.collisions[0].shape.X_BS.p, Vector3d(0, 0, 1));
  EXPECT_EQ(std::get<Cylinder>(link.collisions[0].shape.geometry).length, 0.4);
  EXPECT_EQ(std::get<Sphere>(link.collisions[1].shape.geometry).radius, 0.2);
  EXPECT_EQ(std::get<Capsule>(link.collisions[2].shape.geometry).length, 0.3);
  EXPECT_EQ(std::get<Ellipsoid>(link.collisions[3].shape.geometry).radii, Vector3d(0.1, 0.2, 0.3));
  EXPECT_EQ(link.collisions[3].shape.friction, 0.7);
  EXPECT_EQ(link.collisions[3].shape.stiffness, 5000);
  EXPECT_LT(link.collisions[0].shape.friction, 0);
}

TEST(Urdf, CompliantShapesAreAsStiffAsTheirHalfWidth) {
  const RobotDescription robot = ReadGood(Robot(
      "<link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>"
      "</inertial><collision><geometry><box size=\"0.2 0.4 0.6\"/></geometry>"
      "<drake:proximity_properties><drake:compliant_hydroelastic/><drake:hydroelastic_modulus "
      "value=\"1e6\"/></drake:proximity_properties></collision></link>"));
  EXPECT_NEAR(robot.links[0].collisions[0].shape.stiffness, 1e6 * 0.1, 1e-6);
}

TEST(Urdf, CollisionFilterGroupsExcludePairs) {
  const std::string group =
      "<drake:collision_filter_group name=\"left\"><drake:member link=\"a\"/>"
      "<drake:member link=\"b\"/><drake:ignored_collision_filter_group name=\"right\"/>"
      "</drake:collision_filter_group>"
      "<drake:collision_filter_group name=\"right\"><drake:member link=\"c\"/>"
      "<drake:ignored_collision_filter_group name=\"right\"/></drake:collision_filter_group>";
  const RobotDescription robot =
      ReadGood(Robot(Links({"a", "b", "c"}) + Joint("ab", "fixed", "a", "b") +
                     Joint("bc", "fixed", "b", "c") + group));
  EXPECT_THAT(robot.excluded_contacts, ElementsAre(std::pair(0, 2), std::pair(1, 2)));
}

TEST(Urdf, JointsToTheWorldAndFramesAreKept) {
  const RobotDescription robot = ReadGood(
      Robot("<link name=\"world\"/>" + Links({"a", "b"}) + Joint("w", "fixed", "world", "a") +
            Joint("v", "prismatic", "world", "b", "<limit lower=\"0\" upper=\"1\"/>") +
            "<frame name=\"grip\" link=\"b\" xyz=\"0 0 0.1\" rpy=\"0 0 0\"/>"));
  EXPECT_EQ(LinkOf(robot, "a").parent, -1);
  EXPECT_EQ(LinkOf(robot, "a").joint.type, JointType::kFixed);
  EXPECT_EQ(LinkOf(robot, "b").parent, -1);
  EXPECT_EQ(LinkOf(robot, "b").joint.name, "v");
  ASSERT_EQ(robot.frames.size(), 1u);
  EXPECT_EQ(robot.frames[0].link, FindLink(robot, "b"));
  EXPECT_EQ(robot.frames[0].X_BF.p, Vector3d(0, 0, 0.1));
}

TEST(Urdf, WhatIsNotKnownIsSaidOnceWithItsCount) {
  const auto warnings = WarningsOf(Robot(Links({"a", "b"}) +
                                         Joint("j", "continuous", "a", "b",
                                               "<safety_controller k_velocity=\"1\"/><calibration "
                                               "rising=\"0\"/>") +
                                         "<gazebo reference=\"a\"/><gazebo/><gazebo/><sensor/>"));
  EXPECT_THAT(warnings, Contains("4: <safety_controller> of a joint is left out"));
  EXPECT_THAT(warnings, Contains("4: <calibration> of a joint is left out"));
  EXPECT_THAT(warnings, Contains("5: <gazebo> is left out (3 times)"));
  EXPECT_THAT(warnings, Contains("5: <sensor> is left out"));
}

TEST(Urdf, LimitsThatAreNotThereAreSaid) {
  const auto warnings =
      WarningsOf(Robot(Links({"a", "b"}) +
                       Joint("j", "revolute", "a", "b", "<limit effort=\"1\" velocity=\"0\"/>")));
  EXPECT_THAT(warnings, Contains(HasSubstr("without lower and upper limit: treated as unlimited")));
  EXPECT_THAT(warnings, Contains(HasSubstr("velocity limit of 0 is treated as no limit")));
}

TEST(Urdf, ALinkWithoutMassMayStandOnAFixedBase) {
  const std::string text = Robot("<link name=\"table\"/>");
  EXPECT_THAT(WarningsOf(text), Contains(HasSubstr("it needs a FIXED base")));
  EXPECT_THAT(WarningsOf(text, {.fixed_base = true}), IsEmpty());
}

TEST(Urdf, ContactOfALinkIsThatOfAllItsShapes) {
  const std::string shape = "<collision><geometry><sphere radius=\"1\"/></geometry>";
  const std::string text = Robot(
      "<link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>"
      "</inertial><contact><lateral_friction value=\"0.9\"/><restitution value=\"0.5\"/>"
      "<stiffness value=\"3e4\"/><rolling_friction value=\"0.1\"/></contact>" +
      shape + "</collision>" + shape +
      "<drake:proximity_properties><drake:mu_dynamic value=\"0.2\"/>"
      "</drake:proximity_properties></collision></link>");
  EXPECT_THAT(WarningsOf(text),
              ElementsAre(HasSubstr("<rolling_friction> of a <contact> is left out")));
  const RobotFileResult result = ReadRobotText(text, "robot.xml", {});
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].shape.friction, 0.9);
  EXPECT_EQ(shapes[1].shape.friction, 0.2);
  for (const auto& made : shapes) {
    EXPECT_EQ(made.shape.restitution, 0.5);
    EXPECT_EQ(made.shape.stiffness, 3e4);
  }
}

TEST(Urdf, MeshesAreFoundInPackagesAndBesideTheFile) {
  const RobotFolder folder;
  folder.Write("arm_description/meshes/cube.obj", CubeObj(1));
  folder.Write("arm_description/urdf/near.obj", CubeObj(0.5));
  folder.Write("other/package.xml", "<package><name>tool_description</name></package>");
  folder.Write("other/tool.obj", CubeObj(0.25));
  const auto mesh = [](const char* uri, const char* scale) {
    return absl::StrCat("<collision><geometry><mesh filename=\"", uri, "\" ", scale,
                        "/></geometry></collision>");
  };
  const std::string path = folder.Write(
      "arm_description/urdf/arm.urdf",
      Robot("<link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
            "izz=\"1\"/></inertial>" +
            mesh("package://arm_description/meshes/cube.obj", "scale=\"1 2 -3\"") +
            mesh("near.obj", "") + mesh("../meshes/cube.obj", "") +
            mesh("package://tool_description/tool.obj", "") + "</link>"));
  const RobotFileResult result =
      ReadRobotFile(path, {.jail = folder.path(), .package_paths = {folder.path() + "/other"}});
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  ASSERT_EQ(shapes.size(), 4u);
  const double volumes[] = {6, 0.125, 1, 0.015625};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(CalcMassProperties(shapes[i].shape.geometry).volume, volumes[i], 1e-12) << i;
  EXPECT_THAT(result.files_hash, testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace pliant::physics
