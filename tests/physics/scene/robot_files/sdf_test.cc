#include <chrono>
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

std::string SdfLink(const std::string& name, const std::string& more = "") {
  return absl::StrCat("<link name=\"", name,
                      "\"><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy>"
                      "<izz>0.1</izz></inertia></inertial>",
                      more, "</link>\n");
}
std::string Pose(const std::string& numbers, const std::string& relative_to = "") {
  if (relative_to.empty()) return absl::StrCat("<pose>", numbers, "</pose>");
  return absl::StrCat("<pose relative_to=\"", relative_to, "\">", numbers, "</pose>");
}
std::string SdfJoint(const std::string& name, const std::string& type, const std::string& parent,
                     const std::string& child, const std::string& more = "") {
  return absl::StrCat("<joint name=\"", name, "\" type=\"", type, "\"><parent>", parent,
                      "</parent><child>", child, "</child>", more, "</joint>\n");
}
std::string Axis(const std::string& xyz, const std::string& more = "") {
  return absl::StrCat("<axis><xyz>", xyz, "</xyz>", more, "</axis>");
}
std::string Model(const std::string& body, const std::string& name = "m",
                  const std::string& attributes = "") {
  return absl::StrCat("<model name=\"", name, "\" ", attributes, ">\n", body, "</model>\n");
}
std::string Sdf(const std::string& body) {
  return "<sdf version=\"1.9\">\n" + body + "</sdf>\n";
}

void ExpectPose(const RigidTransform& X, const Vector3d& p, const Vector3d& rpy) {
  EXPECT_LT((X.p - p).norm(), kUlps) << X.p.transpose();
  EXPECT_LT((X.R - RotationFromRollPitchYaw(rpy).toRotationMatrix()).norm(), kUlps);
}

TEST(Sdf, FramesArePosedRelativeToEachOther) {
  const double right = kPi / 2;
  const RobotDescription robot =
      ReadGood(Sdf(Model(Pose("1 0 0 0 0 0") + SdfLink("a", Pose("0 1 0 0 0 1.5707963267948966")) +
                         SdfLink("b", Pose("1 0 0 0 0 0", "a")) +
                         "<frame name=\"f\" attached_to=\"b\"><pose>0 0 1 0 0 0</pose></frame>"
                         "<frame name=\"g\"><pose relative_to=\"f\">0 0 1 0 0 0</pose></frame>" +
                         SdfLink("c", Pose("0 0 1 0 0 0", "g")) +
                         SdfJoint("ab", "fixed", "a", "b") + SdfJoint("bc", "fixed", "b", "c"))));
  ExpectPose(PoseOf(robot, "a"), {1, 1, 0}, {0, 0, right});
  // a's x points along y
  ExpectPose(PoseOf(robot, "b"), {1, 2, 0}, {0, 0, right});
  ExpectPose(PoseOf(robot, "c"), {1, 2, 3}, {0, 0, right});
  ASSERT_EQ(robot.frames.size(), 2u);
  EXPECT_EQ(robot.frames[0].name, "f");
  EXPECT_EQ(robot.frames[0].link, FindLink(robot, "b"));
  ExpectPose(robot.frames[0].X_BF, {0, 0, 1}, {0, 0, 0});
  // g is attached to the model, that is to its first link, whatever its pose is relative to
  EXPECT_EQ(robot.frames[1].link, FindLink(robot, "a"));
  ExpectPose(robot.frames[1].X_BF, {1, 0, 2}, {0, 0, 0});
}

TEST(Sdf, DegreesAndQuaternionsTurn) {
  const RobotDescription robot =
      ReadGood(Sdf(Model(SdfLink("a", "<pose degrees=\"true\">0 0 0 0 0 90</pose>")) +
                   Model(SdfLink("b",
                                 "<pose rotation_format=\"quat_xyzw\">1 2 3 0 0 0.7071067811865476 "
                                 "0.7071067811865476</pose>"),
                         "n")));
  ExpectPose(PoseOf(robot, "m::a"), {0, 0, 0}, {0, 0, kPi / 2});
  ExpectPose(PoseOf(robot, "n::b"), {1, 2, 3}, {0, 0, kPi / 2});
}

TEST(Sdf, APlacementFrameIsWhatThePosePlaces) {
  // the frame is 1 above the model's own, so the model is placed at 4
  const RobotDescription robot = ReadGood(Sdf(Model(
      Pose("0 0 5 0 0 0") + SdfLink("a") + "<frame name=\"top\"><pose>0 0 1 0 0 0</pose></frame>",
      "m", "placement_frame=\"top\"")));
  ExpectPose(PoseOf(robot, "a"), {0, 0, 4}, {0, 0, 0});
}

TEST(Sdf, NestedModelsKeepTheirNamesApart) {
  const RobotDescription robot = ReadGood(Sdf(Model(
      SdfLink("base") + Model(Pose("0 0 1 0 0 0") + SdfLink("base"), "hand") +
      SdfJoint("j", "revolute", "base", "hand::base", Axis("0 0 1")) +
      SdfJoint("k", "fixed", "hand", "tip") + SdfLink("tip", Pose("0 0 1 0 0 0", "hand::base")))));
  EXPECT_EQ(LinkOf(robot, "hand::base").parent, FindLink(robot, "base"));
  // a joint to a model is a joint to its first link
  EXPECT_EQ(LinkOf(robot, "tip").parent, FindLink(robot, "hand::base"));
  ExpectPose(PoseOf(robot, "tip"), {0, 0, 2}, {0, 0, 0});
}

TEST(Sdf, JointsStandOnTheirChildAndAxesAreExpressedAnywhere) {
  const RobotDescription robot = ReadGood(Sdf(Model(
      SdfLink("a") + SdfLink("b", Pose("0 0 1 0 0 1.5707963267948966")) +
      SdfJoint("j", "revolute", "a", "b",
               Pose("0 0 0.5 0 0 0") + "<axis><xyz expressed_in=\"__model__\">1 0 0</xyz></axis>") +
      SdfLink("c", Pose("0 0 2 0 0 0")) +
      SdfJoint("k", "prismatic", "b", "c", Pose("0 0 0 0 0 0", "a") + Axis("0 1 0")))));
  const physics::Joint& j = JointOf(robot, "j");
  ExpectPose(j.X_BM, {0, 0, 0.5}, {0, 0, 0});
  ExpectPose(j.X_PF, {0, 0, 1.5}, {0, 0, kPi / 2});
  // the model's x is −y of the joint's frame
  EXPECT_LT((j.axis + Vector3d::UnitY()).norm(), kUlps);
  ExpectPose(JointOf(robot, "k").X_BM, {0, 0, -2}, {0, 0, 0});
  EXPECT_EQ(JointOf(robot, "k").axis, Vector3d::UnitY());
}

TEST(Sdf, AllJointTypes) {
  std::string body = SdfLink("l0");
  for (int i = 1; i <= 9; ++i) body += SdfLink(absl::StrCat("l", i));
  const auto link = [](int i) { return absl::StrCat("l", i); };
  body += SdfJoint("revolute", "revolute", link(0), link(1),
                   Axis("0 0 1",
                        "<limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort>"
                        "<velocity>3</velocity><drake:acceleration>7</drake:acceleration></limit>"
                        "<dynamics><damping>0.1</damping><friction>0.2</friction>"
                        "<spring_stiffness>5</spring_stiffness><spring_reference>0.5"
                        "</spring_reference></dynamics>") +
                       "<drake:rotor_inertia>0.001</drake:rotor_inertia>"
                       "<drake:gear_ratio>30</drake:gear_ratio>");
  body += SdfJoint("continuous", "continuous", link(1), link(2), Axis("0 1 0"));
  body += SdfJoint("prismatic", "prismatic", link(2), link(3), Axis("1 0 0"));
  body += SdfJoint("screw", "screw", link(3), link(4),
                   Axis("0 0 1") + "<screw_thread_pitch>0.01</screw_thread_pitch>");
  // radians per metre, left-handed when positive
  body += SdfJoint("old", "screw", link(4), link(5),
                   Axis("0 0 1") + "<thread_pitch>-628.3185307179587</thread_pitch>");
  body += SdfJoint("universal", "universal", link(5), link(6),
                   Axis("1 0 0") + "<axis2><xyz>0 0 1</xyz></axis2>");
  body += SdfJoint("ball", "ball", link(6), link(7));
  body += SdfJoint("fixed", "fixed", link(7), link(8));
  body +=
      "<drake:joint name=\"planar\" type=\"planar\"><drake:parent>l8</drake:parent>"
      "<drake:child>l9</drake:child><drake:damping>2 2 2</drake:damping></drake:joint>";
  const RobotDescription robot = ReadGood(Sdf(Model(body)));
  const physics::Joint& revolute = JointOf(robot, "revolute");
  EXPECT_EQ(revolute.lower, -1);
  EXPECT_EQ(revolute.upper, kInfinity);
  EXPECT_EQ(revolute.effort_limit, kInfinity);
  EXPECT_EQ(revolute.velocity_limit, 3);
  EXPECT_EQ(revolute.acceleration_limit, 7);
  EXPECT_EQ(revolute.damping, 0.1);
  EXPECT_EQ(revolute.friction_loss, 0.2);
  EXPECT_EQ(revolute.spring_stiffness, 5);
  EXPECT_EQ(revolute.spring_rest, 0.5);
  EXPECT_EQ(revolute.rotor_inertia, 0.001);
  EXPECT_EQ(revolute.gear_ratio, 30);
  EXPECT_EQ(JointOf(robot, "continuous").type, JointType::kRevolute);
  EXPECT_EQ(JointOf(robot, "prismatic").type, JointType::kPrismatic);
  EXPECT_EQ(JointOf(robot, "screw").pitch, 0.01);
  EXPECT_NEAR(JointOf(robot, "old").pitch, 0.01, 1e-16);
  EXPECT_EQ(JointOf(robot, "universal").axis, Vector3d::UnitX());
  EXPECT_EQ(JointOf(robot, "universal").axis2, Vector3d::UnitZ());
  EXPECT_EQ(JointOf(robot, "ball").type, JointType::kBall);
  EXPECT_EQ(JointOf(robot, "fixed").type, JointType::kFixed);
  EXPECT_EQ(JointOf(robot, "planar").type, JointType::kPlanar);
  EXPECT_EQ(JointOf(robot, "planar").damping, 2);
}

TEST(Sdf, MimicsAndGearsAreCouplers) {
  const RobotDescription robot = ReadGood(Sdf(Model(
      SdfLink("a") + SdfLink("b") + SdfLink("c") + SdfLink("d") +
      SdfJoint("j", "revolute", "a", "b", Axis("0 0 1")) +
      SdfJoint("k", "revolute", "a", "c",
               "<drake:mimic joint=\"j\" multiplier=\"-2\" offset=\"0.5\"/>" + Axis("0 0 1")) +
      SdfJoint("l", "revolute", "a", "d",
               Axis("0 0 -1",
                    "<mimic joint=\"j\"><multiplier>3</multiplier><offset>1</offset>"
                    "<reference>0.25</reference></mimic>")) +
      SdfJoint("g", "gearbox", "b", "d",
               Axis("0 0 1") + "<gearbox_ratio>4</gearbox_ratio><gearbox_reference_body>a"
                               "</gearbox_reference_body>"))));
  ASSERT_EQ(robot.couplers.size(), 3u);
  EXPECT_EQ(robot.couplers[0].terms[1].second, 2);
  EXPECT_EQ(robot.couplers[0].offset, 0.5);
  EXPECT_EQ(robot.couplers[1].terms[1].second, -3);
  EXPECT_EQ(robot.couplers[1].offset, 0.25);
  // θ_d = −4 θ_b, as joint l turns d in the opposite direction
  EXPECT_EQ(robot.couplers[2].name, "g");
  EXPECT_THAT(robot.couplers[2].terms, ElementsAre(std::pair(FindLink(robot, "b"), 4.0),
                                                   std::pair(FindLink(robot, "d"), -1.0)));
}

TEST(Sdf, GainsAreActuators) {
  const RobotDescription robot =
      ReadGood(Sdf(Model(SdfLink("a") + SdfLink("b") +
                         SdfJoint("j", "revolute", "a", "b",
                                  Axis("0 0 1", "<limit><effort>8</effort></limit>") +
                                      "<drake:controller_gains p=\"100\" d=\"2\"/>"))));
  ASSERT_EQ(robot.actuators.size(), 1u);
  EXPECT_EQ(robot.actuators[0].kind, RobotActuator::Kind::kPosition);
  EXPECT_EQ(robot.actuators[0].stiffness, 100);
  EXPECT_EQ(robot.actuators[0].damping, 2);
  EXPECT_EQ(robot.actuators[0].effort_limit, 8);
}

TEST(Sdf, StaticModelsAndJointsToTheWorldAreHonoured) {
  const RobotDescription robot = ReadGood(
      Sdf("<world name=\"w\">" + Model("<static>true</static>" + SdfLink("floor"), "ground") +
          Model(SdfLink("a", Pose("0 0 1 0 0 0")) +
                    SdfJoint("rail", "prismatic", "world", "a", Axis("1 0 0")),
                "cart") +
          Model(SdfLink("free"), "ball") + "</world>"));
  const RobotLink& floor = LinkOf(robot, "ground::floor");
  EXPECT_EQ(floor.parent, -1);
  EXPECT_EQ(floor.joint.type, JointType::kFixed);
  const RobotLink& cart = LinkOf(robot, "cart::a");
  EXPECT_EQ(cart.parent, -1);
  EXPECT_EQ(cart.joint.name, "cart::rail");
  ExpectPose(cart.joint.X_PF, {0, 0, 1}, {0, 0, 0});
  const RobotLink& ball = LinkOf(robot, "ball::free");
  EXPECT_EQ(ball.joint.type, JointType::kFree);
  EXPECT_EQ(ball.joint.name, "");
}

TEST(Sdf, IncludesAreRead) {
  const RobotFolder folder;
  folder.Write("models/finger/model.config",
               "<model><name>finger</name><sdf version=\"1.9\">f.sdf</sdf></model>");
  folder.Write("models/finger/tip.obj", CubeObj(0.01));
  folder.Write("models/finger/f.sdf",
               Sdf(Model(SdfLink("l",
                                 "<collision name=\"c\"><geometry><mesh><uri>tip.obj</uri></mesh>"
                                 "</geometry></collision>"),
                         "finger")));
  const std::string path = folder.Write(
      "models/hand/hand.sdf",
      Sdf(Model(SdfLink("palm") + "<include><uri>model://finger</uri><name>left</name>" +
                    Pose("0 1 0 0 0 0") +
                    "</include><include><uri>package://finger/f.sdf</uri><name>right</name>" +
                    Pose("0 -1 0 0 0 0") +
                    "</include><include merge=\"true\"><uri>../finger/f.sdf</uri><pose "
                    "relative_to=\"palm\">1 0 0 0 0 0</pose></include>" +
                    SdfJoint("jl", "fixed", "palm", "left::l") +
                    SdfJoint("jr", "fixed", "palm", "right") + SdfJoint("jm", "fixed", "palm", "l"),
                "hand")));
  const RobotFileResult result = ReadRobotFile(path, {.jail = folder.path()});
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  ExpectPose(PoseOf(*result.robot, "left::l"), {0, 1, 0}, {0, 0, 0});
  ExpectPose(PoseOf(*result.robot, "right::l"), {0, -1, 0}, {0, 0, 0});
  ExpectPose(PoseOf(*result.robot, "l"), {1, 0, 0}, {0, 0, 0});
  EXPECT_EQ(LinkOf(*result.robot, "l").collisions.size(), 1u);
}

TEST(Sdf, IncludesThatNeverEndAreRefused) {
  const RobotFolder folder;
  const std::string path =
      folder.Write("a.sdf", Sdf(Model(SdfLink("l") + "<include><uri>a.sdf</uri></include>", "a")));
  EXPECT_THAT(SayAll(ReadRobotFile(path), true), Contains(HasSubstr("include each other")));
}

TEST(Sdf, DeformableLinksAreDeformables) {
  const RobotFolder folder;
  folder.Write("tet.vtk",
               "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n"
               "0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n");
  const std::string material =
      "<drake:deformable_properties><drake:youngs_modulus>5e4</drake:youngs_modulus>"
      "<drake:poissons_ratio>0.45</drake:poissons_ratio><drake:stiffness_damping>0.05"
      "</drake:stiffness_damping><drake:mass_density>900</drake:mass_density>"
      "<drake:material_model>corotated</drake:material_model></drake:deformable_properties>";
  const std::string text = Sdf(
      Model("<link name=\"soft\">" + Pose("0 0 1 0 0 0") +
            "<collision name=\"c\"><geometry><mesh><uri>tet.vtk</uri><scale>2 2 2</scale></mesh>"
            "</geometry><drake:proximity_properties><drake:mu_dynamic>0.9</drake:mu_dynamic>"
            "</drake:proximity_properties></collision>" +
            material +
            "</link><link name=\"ball\"><collision name=\"c\"><geometry><sphere><radius>0.1"
            "</radius></sphere></geometry><drake:proximity_properties>"
            "<drake:mesh_resolution_hint>0.02</drake:mesh_resolution_hint>"
            "</drake:proximity_properties></collision>" +
            material + "</link>"));
  const RobotFileResult result = ReadRobotFile(folder.Write("r.sdf", text));
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_TRUE(result.robot->links.empty());
  ASSERT_EQ(result.robot->deformables.size(), 2u);
  const RobotDeformable& soft = result.robot->deformables[0];
  EXPECT_EQ(soft.name, "soft");
  EXPECT_EQ(soft.X_WB.p, Vector3d(0, 0, 1));
  ASSERT_NE(soft.mesh, nullptr);
  EXPECT_NEAR(CalcVolume(*soft.mesh), 8.0 / 6, 1e-14);
  EXPECT_EQ(soft.youngs_modulus, 5e4);
  EXPECT_EQ(soft.poissons_ratio, 0.45);
  EXPECT_EQ(soft.density, 900);
  EXPECT_EQ(soft.damping_alpha, 0);
  EXPECT_EQ(soft.damping_beta, 0.05);
  EXPECT_EQ(soft.friction, 0.9);
  EXPECT_EQ(soft.material_model, "corotated");
  const RobotDeformable& ball = result.robot->deformables[1];
  ASSERT_TRUE(ball.primitive.has_value());
  EXPECT_EQ(std::get<Sphere>(*ball.primitive).radius, 0.1);
  EXPECT_EQ(ball.edge_length, 0.02);
}

// The format's threshold is 1e5 m/s where none is given, so that nothing bounces.
TEST(Sdf, BouncesAboveTheThresholdOnly) {
  const auto ball = [](const std::string& bounce) {
    return Sdf(Model(SdfLink("a",
                             "<collision name=\"c\"><geometry><sphere><radius>1</radius>"
                             "</sphere></geometry><surface><bounce>" +
                                 bounce + "</bounce></surface></collision>")));
  };
  const std::string with = "<restitution_coefficient>0.8</restitution_coefficient>";
  EXPECT_THAT(WarningsOf(ball(with)), Contains(HasSubstr("<bounce> is left out")));
  EXPECT_THAT(WarningsOf(ball(with + "<threshold>0.1</threshold>")), IsEmpty());
  EXPECT_THAT(WarningsOf(ball("<restitution_coefficient>0</restitution_coefficient>")), IsEmpty());
  const std::string much = "<restitution_coefficient>1.5</restitution_coefficient>";
  EXPECT_THAT(WarningsOf(ball(much + "<threshold>0</threshold>")),
              Contains(HasSubstr("a restitution of 1.5 would gain energy; 1 is used")));
}

TEST(Sdf, ShapesAndTheirSurfaces) {
  const auto collision = [](const std::string& geometry, const std::string& more = "") {
    return "<collision name=\"c\"><geometry>" + geometry + "</geometry>" + more + "</collision>";
  };
  const RobotDescription robot = ReadGood(Sdf(Model(SdfLink(
      "a",
      collision("<box><size>1 2 3</size></box>",
                "<surface><friction><ode><mu>0.4</mu><mu2>0.4</mu2></ode></friction><contact>"
                "<collide_bitmask>0x06</collide_bitmask><ode><kp>1e5</kp></ode></contact>"
                "<bounce><restitution_coefficient>0.7</restitution_coefficient>"
                "<threshold>0</threshold></bounce></surface>") +
          collision("<ellipsoid><radii>1 2 3</radii></ellipsoid>") +
          collision("<capsule><radius>0.1</radius><length>0.5</length></capsule>") +
          collision("<cone><radius>1</radius><length>3</length></cone>") +
          collision("<plane><normal>0 1 0</normal></plane>") +
          "<gravity>false</gravity><visual name=\"v\"><geometry><sphere><radius>1</radius>"
          "</sphere></geometry><material><diffuse>0.1 0.2 0.3 1</diffuse></material></visual>"))));
  const RobotLink& link = robot.links[0];
  EXPECT_EQ(link.gravity_scale, 0);
  ASSERT_EQ(link.collisions.size(), 5u);
  EXPECT_EQ(link.collisions[0].shape.friction, 0.4);
  EXPECT_EQ(link.collisions[0].shape.stiffness, 1e5);
  EXPECT_EQ(link.collisions[0].shape.restitution, 0.7);
  EXPECT_LT(link.collisions[1].shape.restitution, 0);
  EXPECT_EQ(link.collisions[0].contact_type, 6);
  EXPECT_EQ(link.collisions[0].contact_affinity, 6);
  EXPECT_EQ(std::get<Ellipsoid>(link.collisions[1].shape.geometry).radii, Vector3d(1, 2, 3));
  EXPECT_EQ(std::get<Capsule>(link.collisions[2].shape.geometry).length, 0.5);
  // with 48 sides, the volume is 1 − (2π/48)²/6 of a round cone's π
  EXPECT_NEAR(CalcMassProperties(link.collisions[3].shape.geometry).volume, kPi * 0.99715, 1e-4);
  EXPECT_TRUE(std::holds_alternative<HalfSpace>(link.collisions[4].shape.geometry));
  EXPECT_EQ(link.collisions[4].shape.X_BS.R.col(2), Vector3d::UnitY());
  EXPECT_EQ(link.visuals[0].color, Eigen::Vector4d(0.1, 0.2, 0.3, 1));
}

TEST(Sdf, InertiaMayComeFromTheShapes) {
  const std::string box =
      "<collision name=\"c\"><geometry><box><size>1 1 1</size></box></geometry></collision>";
  const RobotDescription robot = ReadGood(
      Sdf(Model("<link name=\"a\"><inertial auto=\"true\"><density>6</density></inertial>" + box +
                "</link>")));
  EXPECT_NEAR(robot.links[0].mass, 6, 1e-15);
  EXPECT_LT((robot.links[0].inertia - Matrix3d::Identity()).norm(), 1e-14);
  // without <inertial> SDF assumes 1 kg; the shapes' inertia is used on request
  const std::string bare = Sdf(Model("<link name=\"a\">" + box + "</link>"));
  EXPECT_EQ(ReadGood(bare).links[0].mass, 1);
  EXPECT_FALSE(ReadGood(bare).links[0].has_inertia);
  EXPECT_THAT(WarningsOf(bare), Contains(HasSubstr("link without <inertial>")));
  EXPECT_NEAR(ReadGood(bare, {.recompute_inertia = true, .default_density = 500}).links[0].mass,
              500, 1e-12);
}

TEST(Sdf, BallConstraintsAreLoops) {
  const RobotDescription robot = ReadGood(Sdf(Model(
      SdfLink("a") + SdfLink("b") + SdfJoint("j", "revolute", "a", "b", Axis("0 0 1")) +
      "<drake:ball_constraint><drake:ball_constraint_body_A>a</drake:ball_constraint_body_A>"
      "<drake:ball_constraint_body_B>b</drake:ball_constraint_body_B><drake:ball_constraint_p_AP>"
      "1 0 0</drake:ball_constraint_p_AP><drake:ball_constraint_p_BQ>0 1 0"
      "</drake:ball_constraint_p_BQ></drake:ball_constraint>"
      "<drake:linear_bushing_rpy/>")));
  ASSERT_EQ(robot.loops.size(), 1u);
  EXPECT_EQ(robot.loops[0].kind, RobotLoop::Kind::kBall);
  EXPECT_EQ(robot.loops[0].X_AF.p, Vector3d::UnitX());
  EXPECT_EQ(robot.loops[0].X_BF.p, Vector3d::UnitY());
}

TEST(Sdf, ASecondModelOfANameIsRenamedUnlessSomethingRefersToIt) {
  const std::string models = Model(SdfLink("a"), "m") + Model(SdfLink("a"), "m") +
                             Model(SdfLink("a"), "m_2") + Model(SdfLink("a"), "m");
  const auto in_world = [](const std::string& text) {
    return Sdf("<world name=\"w\">" + text + "</world>");
  };
  const RobotFileResult result = ReadRobotText(in_world(models), "worlds.sdf");
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  EXPECT_THAT(SayAll(result, false),
              Contains(HasSubstr("\"m\": the name is already taken; it is called \"m_2\"")));
  ASSERT_TRUE(result.robot.has_value());
  std::vector<std::string> names;
  for (const auto& link : result.robot->links) names.push_back(link.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("m::a", "m_2::a", "m_2_2::a", "m_3::a"));
  for (const std::string& reference :
       {SdfJoint("j", "fixed", "m::a", "m_3::a"),
        std::string("<frame name=\"f\" attached_to=\"m\"/>"),
        "<frame name=\"f\">" + Pose("0 0 0 0 0 0", "m::a") + "</frame>"}) {
    EXPECT_THAT(ErrorsOf(in_world(models + reference)),
                Contains(HasSubstr("the name is already taken by model \"m\"")))
        << reference;
  }
}

TEST(Sdf, ManyModelsOfANameAreReadInTime) {
  std::string models;
  for (int i = 0; i < 20'000; ++i) models += Model(SdfLink("a"), "m");
  const auto begin = std::chrono::steady_clock::now();
  const RobotFileResult result =
      ReadRobotText(Sdf("<world name=\"w\">" + models + "</world>"), "worlds.sdf");
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Sdf, FramesInCirclesAreRefused) {
  EXPECT_THAT(ErrorsOf(Sdf(Model(SdfLink("a", Pose("0 0 0 0 0 0", "b")) +
                                 SdfLink("b", Pose("0 0 0 0 0 0", "a"))))),
              Contains(HasSubstr("is posed relative to itself")));
  EXPECT_THAT(
      ErrorsOf(Sdf(Model(SdfLink("a") + "<frame name=\"f\" attached_to=\"g\"/>"
                                        "<frame name=\"g\" attached_to=\"f\"/>"))),
      Contains(testing::AnyOf(HasSubstr("relative to itself"), HasSubstr("attached to itself"))));
  EXPECT_THAT(ErrorsOf(Sdf(Model(SdfLink("a", Pose("0 0 0 0 0 0", "none"))))),
              Contains(HasSubstr("is relative to \"none\", which does not exist")));
  EXPECT_THAT(ErrorsOf(Sdf(Model(SdfLink("a") + "<frame name=\"a\"/>"))),
              Contains(HasSubstr("the name is already taken by link \"a\"")));
}

}  // namespace
}  // namespace pliant::physics
