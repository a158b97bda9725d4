#include <algorithm>
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

std::string World(const std::string& bodies, const std::string& more = "") {
  return absl::StrCat("<mujoco model=\"m\">\n", more, "<worldbody>\n", bodies,
                      "</worldbody>\n</mujoco>\n");
}
const char kBall[] = "<geom size=\"0.1\"/>";

TEST(Mjcf, BodiesHangOnEachOther) {
  const RobotDescription robot = ReadGood(
      World("<geom type=\"plane\" size=\"1 1 1\"/>"
            "<body name=\"a\" pos=\"0 0 1\"><freejoint/><geom size=\"0.1\"/>"
            "<body name=\"b\" pos=\"1 0 0\" euler=\"0 0 90\"><joint name=\"j\" axis=\"0 0 2\"/>"
            "<geom size=\"0.1\"/><body name=\"c\" pos=\"1 0 0\"><geom size=\"0.1\"/></body>"
            "</body></body><body name=\"post\" pos=\"5 0 0\"><geom size=\"0.1\"/></body>"));
  EXPECT_EQ(robot.format, "MJCF");
  EXPECT_EQ(robot.name, "m");
  const RobotLink& world = LinkOf(robot, "world");
  EXPECT_EQ(world.joint.type, JointType::kFixed);
  EXPECT_TRUE(std::holds_alternative<HalfSpace>(world.collisions.at(0).shape.geometry));
  // an explicit free joint stays free for any base, and gets a name
  const RobotLink& a = LinkOf(robot, "a");
  EXPECT_EQ(a.joint.type, JointType::kFree);
  EXPECT_EQ(a.joint.name, "a_joint");
  EXPECT_EQ(JointOf(robot, "j").type, JointType::kRevolute);
  EXPECT_EQ(JointOf(robot, "j").axis, Vector3d::UnitZ());
  EXPECT_EQ(LinkOf(robot, "c").joint.type, JointType::kFixed);
  EXPECT_LT((PoseOf(robot, "c").p - Vector3d(1, 1, 1)).norm(), kUlps);
  // a body without joints is fixed to the world
  EXPECT_EQ(LinkOf(robot, "post").parent, -1);
  EXPECT_EQ(LinkOf(robot, "post").joint.type, JointType::kFixed);
}

TEST(Mjcf, SeveralJointsInABodyHaveLinksWithoutMassBetween) {
  const RobotDescription robot = ReadGood(
      World("<body name=\"a\" pos=\"0 0 1\"><joint name=\"x\" type=\"slide\" axis=\"1 0 0\"/>"
            "<joint name=\"r\" axis=\"0 0 1\" pos=\"0.5 0 0\" ref=\"30\" range=\"-90 60\" "
            "springref=\"10\" stiffness=\"2\" damping=\"3\" armature=\"0.1\" frictionloss=\"0.2\"/>"
            "<geom size=\"0.1\"/></body>"));
  ASSERT_EQ(robot.links.size(), 2u);
  EXPECT_EQ(robot.links[0].name, "a:x");
  EXPECT_EQ(robot.links[0].mass, 0);
  EXPECT_EQ(robot.links[0].joint.name, "x");
  EXPECT_EQ(robot.links[1].name, "a");
  EXPECT_EQ(robot.links[1].parent, 0);
  const physics::Joint& r = robot.links[1].joint;
  const double degree = kPi / 180;
  EXPECT_NEAR(r.lower, -90 * degree, 1e-15);
  EXPECT_NEAR(r.upper, 60 * degree, 1e-15);
  EXPECT_NEAR(r.spring_rest, 10 * degree, 1e-15);
  EXPECT_EQ(r.spring_stiffness, 2);
  EXPECT_EQ(r.damping, 3);
  EXPECT_EQ(r.rotor_inertia, 0.1);
  EXPECT_EQ(r.friction_loss, 0.2);
  EXPECT_EQ(r.X_BM.p, Vector3d(0.5, 0, 0));
  // at the reference position the body is where the file puts it
  EXPECT_NEAR(robot.links[1].initial_position, 30 * degree, 1e-15);
  EXPECT_LT((PoseOf(robot, "a").p - Vector3d(0, 0, 1)).norm(), kUlps);
  EXPECT_LT((PoseOf(robot, "a").R - Matrix3d::Identity()).norm(), kUlps);
}

TEST(Mjcf, RotationsHaveFiveSpellings) {
  // all of them are 90° about z
  const std::string spellings[] = {"quat=\"1 0 0 1\"", "axisangle=\"0 0 3 90\"", "euler=\"0 0 90\"",
                                   "xyaxes=\"0 1 0 -1 0 0\""};
  for (const std::string& spelling : spellings) {
    const RobotDescription robot =
        ReadGood(World("<body name=\"a\" " + spelling + ">" + kBall + "</body>"));
    const Matrix3d expected = RotationFromRollPitchYaw({0, 0, kPi / 2}).toRotationMatrix();
    EXPECT_LT((PoseOf(robot, "a").R - expected).norm(), kUlps) << spelling;
  }
  const RobotDescription robot =
      ReadGood(World("<body name=\"a\" zaxis=\"0 2 0\">" + std::string(kBall) + "</body>"));
  EXPECT_LT((PoseOf(robot, "a").R.col(2) - Vector3d::UnitY()).norm(), kUlps);
}

TEST(Mjcf, TheCompilerSaysHowAnglesAreMeant) {
  const auto turned = [](const std::string& compiler, const std::string& euler) {
    return PoseOf(ReadGood(World("<body name=\"a\" euler=\"" + euler + "\">" + kBall + "</body>",
                                 "<compiler " + compiler + "/>")),
                  "a")
        .R;
  };
  const auto about = [](int axis, double angle) {
    return RotationFromVector(angle * Vector3d::Unit(axis)).toRotationMatrix();
  };
  // lower-case axes rotate with the body, upper-case axes stay those of the parent
  EXPECT_LT(
      (turned("angle=\"radian\"", "0.1 0.2 0.3") - about(0, 0.1) * about(1, 0.2) * about(2, 0.3))
          .norm(),
      kUlps);
  EXPECT_LT((turned("angle=\"radian\" eulerseq=\"XYZ\"", "0.1 0.2 0.3") -
             about(2, 0.3) * about(1, 0.2) * about(0, 0.1))
                .norm(),
            kUlps);
  EXPECT_LT((turned("angle=\"radian\" eulerseq=\"zxZ\"", "0.1 0.2 0.3") -
             about(2, 0.3) * about(2, 0.1) * about(0, 0.2))
                .norm(),
            kUlps);
}

TEST(Mjcf, DefaultsAreInherited) {
  const RobotDescription robot = ReadGood(World(
      "<body name=\"a\" childclass=\"arm\"><joint name=\"j\"/><geom name=\"g\" size=\"0.1\"/>"
      "<geom name=\"h\" class=\"big\"/><geom name=\"i\" class=\"main\" size=\"0.3\"/></body>",
      "<default><geom density=\"10\" friction=\"0.2\"/><joint damping=\"1\"/>"
      "<default class=\"arm\"><joint type=\"slide\" armature=\"0.5\"/><geom rgba=\"1 0 0 1\"/>"
      "<default class=\"big\"><geom size=\"0.5\" friction=\"0.9\"/></default></default>"
      "</default>"));
  const physics::Joint& joint = JointOf(robot, "j");
  EXPECT_EQ(joint.type, JointType::kPrismatic);
  EXPECT_EQ(joint.damping, 1);
  EXPECT_EQ(joint.rotor_inertia, 0.5);
  const auto& shapes = LinkOf(robot, "a").collisions;
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].shape.friction, 0.2);
  EXPECT_EQ(shapes[0].color, Eigen::Vector4d(1, 0, 0, 1));
  EXPECT_EQ(std::get<Sphere>(shapes[1].shape.geometry).radius, 0.5);
  EXPECT_EQ(shapes[1].shape.friction, 0.9);
  EXPECT_EQ(shapes[1].color, Eigen::Vector4d(1, 0, 0, 1));
  EXPECT_FALSE(shapes[2].color.has_value());
  // all shapes have density 10
  const double volume = 4.0 / 3 * kPi * (0.001 + 0.125 + 0.027);
  EXPECT_NEAR(LinkOf(robot, "a").mass, 10 * volume, 1e-12);
}

TEST(Mjcf, GeomsHaveTheirShapes) {
  const RobotDescription robot =
      ReadGood(World("<body name=\"a\"><geom type=\"capsule\" size=\"0.1 0.3\"/>"
                     "<geom type=\"cylinder\" fromto=\"0 0 0 0 2 0\" size=\"0.1\"/>"
                     "<geom type=\"box\" fromto=\"0 0 0 0 0 2\" size=\"0.1\"/>"
                     "<geom type=\"ellipsoid\" size=\"0.1 0.2 0.3\" condim=\"1\"/>"
                     "<geom size=\"0.2\" contype=\"0\" conaffinity=\"0\"/>"
                     "<geom size=\"0.2\" contype=\"2\" conaffinity=\"4\" group=\"3\"/></body>"));
  const RobotLink& link = LinkOf(robot, "a");
  ASSERT_EQ(link.collisions.size(), 5u);
  EXPECT_EQ(std::get<Capsule>(link.collisions[0].shape.geometry).length, 0.6);
  const Shape& cylinder = link.collisions[1].shape;
  EXPECT_EQ(std::get<Cylinder>(cylinder.geometry).length, 2);
  EXPECT_EQ(cylinder.X_BS.p, Vector3d(0, 1, 0));
  EXPECT_LT(std::abs(cylinder.X_BS.R.col(2).y()) - 1, kUlps);
  EXPECT_EQ(std::get<Box>(link.collisions[2].shape.geometry).half_size, Vector3d(0.1, 0.1, 1));
  // condim 1 means no tangential friction
  EXPECT_EQ(link.collisions[3].shape.friction, 0);
  EXPECT_EQ(link.collisions[0].shape.friction, 1);
  EXPECT_EQ(link.collisions[4].contact_type, 2);
  EXPECT_EQ(link.collisions[4].contact_affinity, 4);
  // geoms without contact are visuals only, geoms of group 3 are collisions only
  EXPECT_EQ(link.visuals.size(), 5u);
}

TEST(Mjcf, InertiaComesFromGeomsUnlessItIsGiven) {
  const std::string geoms =
      "<joint/><geom type=\"box\" size=\"0.5 0.5 0.5\" pos=\"1 0 0\" mass=\"6\"/>"
      "<geom type=\"box\" size=\"0.5 0.5 0.5\" pos=\"-1 0 0\" mass=\"6\" group=\"4\"/>";
  const RobotDescription both = ReadGood(World("<body name=\"a\">" + geoms + "</body>"));
  // two cubes of 6 kg: 1 kg·m² each, plus 6 · 1² twice about y and z
  EXPECT_EQ(both.links[0].mass, 12);
  EXPECT_LT((both.links[0].inertia - Matrix3d(Vector3d(2, 14, 14).asDiagonal())).norm(), 1e-13);
  const RobotDescription one = ReadGood(
      World("<body name=\"a\">" + geoms + "</body>", "<compiler inertiagrouprange=\"0 3\"/>"));
  EXPECT_EQ(one.links[0].mass, 6);
  EXPECT_EQ(one.links[0].p_BoBcm, Vector3d::UnitX());
  const RobotDescription given = ReadGood(
      World("<body name=\"a\"><inertial pos=\"0 0 1\" mass=\"2\" fullinertia=\"3 4 5 0.1 0.2 "
            "0.3\"/>" +
                geoms + "</body>",
            "<compiler settotalmass=\"4\"/>"));
  EXPECT_EQ(given.links[0].mass, 4);
  EXPECT_EQ(given.links[0].p_BoBcm, Vector3d::UnitZ());
  EXPECT_EQ(given.links[0].inertia(1, 1), 8);
  EXPECT_EQ(given.links[0].inertia(0, 2), 0.4);
  EXPECT_EQ(given.links[0].inertia(1, 2), 0.6);
}

TEST(Mjcf, FramesAndReplicasPoseWhatIsInThem) {
  const RobotDescription robot = ReadGood(
      World("<frame pos=\"0 0 1\" euler=\"0 0 90\"><body name=\"a\" pos=\"1 0 0\">"
            "<frame euler=\"0 90 0\"><joint name=\"j\" axis=\"0 0 1\"/></frame><geom size=\"0.1\"/>"
            "</body></frame><replicate count=\"12\" offset=\"0 1 0\" euler=\"0 0 10\" sep=\"-\">"
            "<body name=\"r\" pos=\"1 0 0\"><geom size=\"0.1\"/></body></replicate>"));
  EXPECT_LT((PoseOf(robot, "a").p - Vector3d(0, 1, 1)).norm(), kUlps);
  // the frame rotates the joint's z to the body's x
  EXPECT_LT((JointOf(robot, "j").axis - Vector3d::UnitX()).norm(), kUlps);
  EXPECT_LT((PoseOf(robot, "r-00").p - Vector3d(1, 0, 0)).norm(), kUlps);
  const double ten = 10 * kPi / 180;
  // each copy continues from the rotation of the previous one
  const Vector3d at(std::cos(2 * ten) - std::sin(ten), 1 + std::cos(ten) + std::sin(2 * ten), 0);
  EXPECT_LT((PoseOf(robot, "r-02").p - at).norm(), kUlps);
  EXPECT_EQ(robot.links.size(), 13u);
}

TEST(Mjcf, ActuatorsDriveJoints) {
  const RobotDescription robot = ReadGood(
      World("<body name=\"a\"><joint name=\"j\" axis=\"0 0 1\" actuatorfrcrange=\"-50 50\"/>"
            "<geom type=\"box\" size=\"0.5 0.5 0.5\" mass=\"6\"/></body>",
            "<actuator><motor name=\"m\" joint=\"j\" gear=\"5\" ctrlrange=\"-2 1\"/>"
            "<position name=\"p\" joint=\"j\" gear=\"2\" kp=\"30\" kv=\"4\" "
            "forcerange=\"-10 10\"/>"
            "<position name=\"d\" joint=\"j\" kp=\"16\" dampratio=\"0.5\"/>"
            "<velocity name=\"v\" joint=\"j\" kv=\"7\"/>"
            "<general name=\"g\" joint=\"j\" gainprm=\"20\" biastype=\"affine\" "
            "biasprm=\"0 -20 -1\"/></actuator>"));
  ASSERT_EQ(robot.actuators.size(), 5u);
  const auto& a = robot.actuators;
  EXPECT_EQ(a[0].kind, RobotActuator::Kind::kTorque);
  EXPECT_EQ(a[0].gear, 5);
  EXPECT_EQ(a[0].effort_limit, 10);
  EXPECT_EQ(a[1].kind, RobotActuator::Kind::kPosition);
  EXPECT_EQ(a[1].stiffness, 120);
  EXPECT_EQ(a[1].damping, 16);
  EXPECT_EQ(a[1].effort_limit, 20);
  // a cube of 6 kg has 1 kg·m² about the axis, so the damping is 2 · 0.5 · √16
  EXPECT_NEAR(a[2].damping, 4, 1e-14);
  EXPECT_EQ(a[2].effort_limit, 50);
  EXPECT_EQ(a[3].kind, RobotActuator::Kind::kVelocity);
  EXPECT_EQ(a[3].damping, 7);
  EXPECT_EQ(a[4].kind, RobotActuator::Kind::kPosition);
  EXPECT_EQ(a[4].stiffness, 20);
  EXPECT_EQ(a[4].damping, 1);
}

const char kTwo[] =
    "<body name=\"a\"><joint name=\"j\" type=\"slide\" axis=\"1 0 0\" ref=\"0.5\"/>"
    "<geom size=\"0.1\"/></body>"
    "<body name=\"b\" pos=\"1 0 0\"><joint name=\"k\" type=\"slide\" axis=\"1 0 0\"/>"
    "<geom size=\"0.1\"/><site name=\"s\" pos=\"0 0 0.2\"/></body>";

TEST(Mjcf, EqualitiesAreCouplersAndLoops) {
  const RobotDescription robot = ReadGood(
      World(kTwo,
            "<equality><joint name=\"e\" joint1=\"j\" joint2=\"k\" polycoef=\"0.1 2 0 0 0\"/>"
            "<connect name=\"c\" body1=\"a\" body2=\"b\" anchor=\"0 0 1\"/>"
            "<weld name=\"w\" body1=\"a\" body2=\"b\"/><weld name=\"x\" body1=\"b\"/>"
            "<joint joint1=\"j\" active=\"false\"/></equality>"));
  ASSERT_EQ(robot.couplers.size(), 1u);
  // q_j − 0.5 = 0.1 + 2 q_k
  EXPECT_THAT(robot.couplers[0].terms, ElementsAre(std::pair(0, 1.0), std::pair(1, -2.0)));
  EXPECT_NEAR(robot.couplers[0].offset, 0.6, 1e-15);
  ASSERT_EQ(robot.loops.size(), 3u);
  EXPECT_EQ(robot.loops[0].kind, RobotLoop::Kind::kBall);
  EXPECT_EQ(robot.loops[0].X_AF.p, Vector3d(0, 0, 1));
  EXPECT_LT((robot.loops[0].X_BF.p - Vector3d(-1, 0, 1)).norm(), kUlps);
  EXPECT_EQ(robot.loops[1].kind, RobotLoop::Kind::kWeld);
  EXPECT_LT((robot.loops[1].X_AF.p - Vector3d(1, 0, 0)).norm(), kUlps);
  EXPECT_EQ(robot.loops[2].link_b, -1);
}

TEST(Mjcf, FixedTendonsAreCouplersWhereTheyAreHeld) {
  const RobotDescription robot =
      ReadGood(World(kTwo,
                     "<tendon><fixed name=\"t\"><joint joint=\"j\" coef=\"1\"/>"
                     "<joint joint=\"k\" coef=\"-3\"/></fixed></tendon>"
                     "<equality><tendon tendon1=\"t\" polycoef=\"0.25\"/></equality>"));
  ASSERT_EQ(robot.couplers.size(), 1u);
  // the tendon's current length, 0.5, plus 0.25
  EXPECT_THAT(robot.couplers[0].terms, ElementsAre(std::pair(0, 1.0), std::pair(1, -3.0)));
  EXPECT_NEAR(robot.couplers[0].offset, 0.75, 1e-15);
}

TEST(Mjcf, SitesExclusionsAndKeyframes) {
  const RobotDescription robot = ReadGood(
      World(std::string(kTwo) + "<body name=\"f\" pos=\"0 0 1\"><freejoint/><geom size=\"0.1\"/>"
                                "</body>",
            "<contact><exclude body1=\"b\" body2=\"a\"/></contact>"
            "<keyframe><key name=\"up\" qpos=\"0.7 0.2 1 2 4 0 0 0 1\"/></keyframe>"));
  ASSERT_EQ(robot.frames.size(), 1u);
  EXPECT_EQ(robot.frames[0].link, FindLink(robot, "b"));
  EXPECT_EQ(robot.frames[0].X_BF.p, Vector3d(0, 0, 0.2));
  EXPECT_THAT(robot.excluded_contacts, ElementsAre(std::pair(0, 1)));
  ASSERT_EQ(robot.keyframes.size(), 1u);
  const auto& key = robot.keyframes[0];
  EXPECT_THAT(key.positions[0], ElementsAre(0.7));
  EXPECT_THAT(key.positions[1], ElementsAre(0.2));
  // quaternion first, and position relative to where the file puts the body
  EXPECT_THAT(key.positions[2], ElementsAre(0, 0, 0, 1, 1, 2, 3));
}

TEST(Mjcf, FlexcompsAreDeformables) {
  const RobotDescription robot = ReadGood(World(
      "<body name=\"a\" pos=\"0 0 1\"><geom size=\"0.1\"/><flexcomp name=\"g\" type=\"grid\" "
      "dim=\"3\" count=\"3 3 4\" spacing=\"0.1 0.1 0.2\" pos=\"1 0 0\" mass=\"0.048\">"
      "<elasticity young=\"2e4\" poisson=\"0.3\" damping=\"0.01\"/>"
      "<contact friction=\"0.4\" selfcollide=\"none\"/><pin id=\"0\" gridrange=\"2 2 3 2 2 3\"/>"
      "</flexcomp></body>"
      "<flexcomp name=\"d\" type=\"direct\" dim=\"3\" point=\"0 0 0 1 0 0 0 1 0 0 0 1\" "
      "element=\"0 1 2 3\" mass=\"2\"><elasticity young=\"1e5\"/></flexcomp>"));
  ASSERT_EQ(robot.deformables.size(), 2u);
  const RobotDeformable& grid = robot.deformables[0];
  EXPECT_EQ(grid.X_WB.p, Vector3d(1, 0, 1));
  EXPECT_EQ(grid.count, (std::array<int, 3>{3, 3, 4}));
  EXPECT_EQ(grid.spacing, Vector3d(0.1, 0.1, 0.2));
  // the volume is 0.2 · 0.2 · 0.6 m³
  EXPECT_NEAR(grid.density, 2, 1e-14);
  EXPECT_EQ(grid.youngs_modulus, 2e4);
  EXPECT_EQ(grid.poissons_ratio, 0.3);
  EXPECT_EQ(grid.damping_beta, 0.01);
  EXPECT_EQ(grid.friction, 0.4);
  EXPECT_FALSE(grid.self_contact);
  EXPECT_EQ(grid.pinned_to, FindLink(robot, "a"));
  EXPECT_THAT(grid.pinned, ElementsAre(0, 35));
  const RobotDeformable& direct = robot.deformables[1];
  ASSERT_NE(direct.mesh, nullptr);
  EXPECT_NEAR(direct.density, 12, 1e-13);
  EXPECT_EQ(direct.pinned_to, -1);
}

TEST(Mjcf, IncludesAndMeshesAreRead) {
  const RobotFolder folder;
  folder.Write("assets/cube.obj", CubeObj(1));
  folder.Write("parts/arm.xml",
               "<mujocoinclude><body name=\"arm\"><joint name=\"j\"/><geom type=\"mesh\" "
               "mesh=\"c\"/></body></mujocoinclude>");
  const std::string path = folder.Write(
      "m.xml",
      "<mujoco><compiler meshdir=\"assets\"/><asset><mesh name=\"c\" file=\"cube.obj\" "
      "scale=\"2 2 2\" refpos=\"0.5 0.5 0.5\"/></asset><worldbody><include "
      "file=\"parts/arm.xml\"/></worldbody></mujoco>");
  const RobotFileResult result = ReadRobotFile(path, {.jail = folder.path()});
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  const RobotLink& arm = LinkOf(*result.robot, "arm");
  ASSERT_EQ(arm.collisions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ConvexMesh>(arm.collisions[0].shape.geometry));
  // the file's reference point becomes the geom's origin
  EXPECT_LT(arm.p_BoBcm.norm(), 1e-14);
  EXPECT_NEAR(arm.mass, 8000, 1e-9);
  EXPECT_TRUE(std::holds_alternative<SurfaceMesh>(arm.visuals.at(0).shape.geometry));
}

TEST(Mjcf, TheMassOfAMeshIsWhereItsAssetSays) {
  const RobotFolder folder;
  // a closed U of 3 x 3 x 1 m with arms of 1 m, and a cube without one of its faces
  folder.Write("u.obj",
               "v 0 0 0\nv 3 0 0\nv 3 1 0\nv 1 1 0\nv 1 2 0\nv 3 2 0\nv 3 3 0\nv 0 3 0\n"
               "v 0 0 1\nv 3 0 1\nv 3 1 1\nv 1 1 1\nv 1 2 1\nv 3 2 1\nv 3 3 1\nv 0 3 1\n"
               "f 4 3 2 1\nf 5 4 1 8\nf 8 7 6 5\nf 9 10 11 12\nf 9 12 13 16\nf 13 14 15 16\n"
               "f 1 2 10 9\nf 2 3 11 10\nf 3 4 12 11\nf 4 5 13 12\nf 5 6 14 13\nf 6 7 15 14\n"
               "f 7 8 16 15\nf 8 1 9 16\n");
  folder.Write("open.obj", CubeObj(1, /*open=*/true));
  const auto read = [&](const std::string& file, const std::string& asset) {
    const RobotFileResult result = ReadRobotFile(folder.Write(
        "m.xml", absl::StrCat("<mujoco><asset><mesh name=\"m\" file=\"", file, "\" ", asset,
                              "/></asset><worldbody><body name=\"b\"><freejoint/><geom "
                              "type=\"mesh\" mesh=\"m\" density=\"1\"/></body></worldbody>"
                              "</mujoco>")));
    EXPECT_THAT(SayAll(result, true), IsEmpty());
    return result.robot.has_value() ? LinkOf(*result.robot, "b") : RobotLink();
  };
  const auto mass_of = [&](const std::string& file, const std::string& asset) {
    return read(file, asset).mass;
  };
  // as MuJoCo 4.0 has them
  EXPECT_NEAR(mass_of("u.obj", ""), 8.61754009163803, 1e-12);
  EXPECT_NEAR(mass_of("u.obj", "inertia=\"legacy\""), 8.61754009163803, 1e-12);
  EXPECT_NEAR(mass_of("u.obj", "inertia=\"exact\""), 7, 1e-12);
  EXPECT_NEAR(mass_of("u.obj", "inertia=\"exact\" scale=\"-1 1 1\""), 7, 1e-12);
  EXPECT_NEAR(mass_of("u.obj", "inertia=\"convex\""), 9, 1e-12);
  EXPECT_NEAR(mass_of("u.obj", "inertia=\"shell\""), 30, 1e-12);
  EXPECT_NEAR(mass_of("open.obj", "inertia=\"convex\""), 1, 1e-12);
  // a low roof on the cube with a bump on one of its sides that is too small to matter for contact
  const double height = std::ldexp(1.0, -23);
  folder.Write("bump.obj", absl::StrCat(CubeObj(1), "v 0.5 0.5 1.000000476837158203125\n",
                                        "v 0.75 0.5 1.00000035762786865234375\nf 5 9 10\n"));
  EXPECT_NEAR(mass_of("bump.obj", "inertia=\"convex\""), 1 + height * 17 / 12, 1e-12);
  const RobotLink legacy = read("open.obj", ""), shell = read("open.obj", "inertia=\"shell\"");
  EXPECT_NEAR(legacy.mass, 0.804166666666667, 1e-12);
  EXPECT_LT((legacy.p_BoBcm - Vector3d(0.4125, 0.5, 0.5)).norm(), 1e-12);
  EXPECT_LT((legacy.inertia.diagonal() - Vector3d(0.14708333, 0.12397539, 0.12397539)).norm(),
            2e-8);
  EXPECT_NEAR(shell.mass, 5, 1e-12);
  EXPECT_LT((shell.p_BoBcm - Vector3d(0.4, 0.5, 0.5)).norm(), 1e-12);
  EXPECT_LT((shell.inertia.diagonal() - Vector3d(1.5, 1.28333333, 1.28333333)).norm(), 2e-8);

  // a face that other programs might cut otherwise, where the mass follows from it
  folder.Write("l.obj",
               "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 1\nv 2 0 1\nv 2 1 1\n"
               "v 1 1 1\nv 1 2 1\nv 0 2 1\nf 6 5 4 3 2 1\nf 7 8 9 10 11 12\nf 1 2 8 7\n"
               "f 2 3 9 8\nf 3 4 10 9\nf 4 5 11 10\nf 5 6 12 11\nf 6 1 7 12\n");
  const auto warnings_of = [&](const std::string& asset, const std::string& body) {
    return SayAll(
        ReadRobotFile(folder.Write(
            "m.xml", absl::StrCat("<mujoco><asset><mesh name=\"m\" file=\"l.obj\" ", asset,
                                  "/></asset><worldbody><body>", body,
                                  "<geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"))),
        false);
  };
  EXPECT_THAT(warnings_of("", ""), Contains(HasSubstr("has 2 concave polygons")));
  EXPECT_THAT(warnings_of("inertia=\"convex\"", ""), IsEmpty());
  EXPECT_THAT(warnings_of("", "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>"),
              IsEmpty());

  const std::string text =
      "<mujoco><asset><mesh name=\"m\" file=\"open.obj\" inertia=\"solid\"/></asset>"
      "<worldbody><body><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
  EXPECT_THAT(SayAll(ReadRobotFile(folder.Write("m.xml", text)), true),
              Contains(HasSubstr("\"solid\" is unknown; expected legacy, exact")));
}

TEST(Mjcf, ABodyWithoutInertiaIsAPointUnlessItTurns) {
  const std::string inertial = "<inertial pos=\"0 0 0\" mass=\"10\"/>";
  const auto with = [&](const std::string& joint) {
    return World("<body name=\"a\">" + joint + inertial + "<geom size=\"0.1\"/></body>");
  };
  EXPECT_THAT(WarningsOf(with("")), Contains(HasSubstr("its mass is a point")));
  EXPECT_THAT(WarningsOf(with("<joint/>")),
              Contains(HasSubstr("The inertia of its shapes is used")));
  EXPECT_NEAR(ReadGood(with("<joint/>")).links[0].inertia(2, 2), 0.4 * 10 * 0.1 * 0.1, 1e-15);
}

TEST(Mjcf, AFixedJointIsNone) {
  const std::string fixed = World(
      "<body name=\"a\"><joint name=\"j\"/><geom size=\"0.1\"/><body name=\"b\"><joint "
      "type=\"fixed\"/><geom size=\"0.1\"/></body></body>");
  EXPECT_THAT(WarningsOf(fixed), Contains(HasSubstr("<joint> of type \"fixed\"")));
  EXPECT_EQ(ReadGood(fixed).links[1].joint.type, JointType::kFixed);
}

TEST(Mjcf, NegativeDampingAndZeroQuaternionsOfKeysAreMended) {
  const std::string damped =
      World("<body name=\"a\"><joint damping=\"-0.1\"/><geom size=\"0.1\"/></body>");
  EXPECT_THAT(WarningsOf(damped), Contains(HasSubstr("negative damping")));
  EXPECT_EQ(ReadGood(damped).links[0].joint.damping, 0);
  const std::string key =
      "<mujoco><worldbody><body><freejoint/><geom size=\"0.1\"/></body></worldbody><keyframe><key "
      "qpos=\"1 2 3 0 0 0 0\"/></keyframe></mujoco>";
  EXPECT_THAT(WarningsOf(key), Contains(HasSubstr("zero quaternion; it is read as no rotation")));
  EXPECT_EQ(ReadGood(key).keyframes.at(0).positions.at(0).at(0), 1);
}

TEST(Mjcf, LimitsOfAFreeJointAreIgnored) {
  const std::string text =
      "<mujoco><default><joint limited=\"true\"/></default><worldbody><body><joint "
      "type=\"free\"/><geom size=\"0.1\"/></body></worldbody></mujoco>";
  EXPECT_EQ(ReadGood(text).links[0].joint.type, JointType::kFree);
}

TEST(Mjcf, ALimitedBallJointNeedsNoRange) {
  const std::string text =
      "<mujoco><default><joint limited=\"true\"/></default><worldbody><body><joint "
      "type=\"ball\"/><geom size=\"0.1\"/></body></worldbody></mujoco>";
  EXPECT_EQ(ReadGood(text).links[0].joint.type, JointType::kBall);
  EXPECT_THAT(WarningsOf(text), Contains(HasSubstr("range of a ball joint is left out")));
}

TEST(Mjcf, AnIncludedFileMayHaveAnyRoot) {
  const RobotFolder folder;
  folder.Write("ball.xml", "<mujocoinclue><body><geom size=\"0.1\"/></body></mujocoinclue>");
  folder.Write("arm.urdf", "<robot name=\"r\"/>");
  const auto with = [&](const std::string& file) {
    return ReadRobotFile(folder.Write(
        "scene.xml",
        absl::StrCat("<mujoco><worldbody><include file=\"", file, "\"/></worldbody></mujoco>")));
  };
  EXPECT_THAT(SayAll(with("ball.xml"), true), IsEmpty());
  EXPECT_THAT(SayAll(with("arm.urdf"), true), Contains(HasSubstr("is a <robot> file")));
}

TEST(Mjcf, ModelsOfOtherFilesAreAttached) {
  const RobotFolder folder;
  folder.Write("hands/meshes/cube.obj", CubeObj(1));
  folder.Write("hands/finger.xml",
               "<mujocoinclude><body name=\"finger\" pos=\"0 0 0.5\"><joint name=\"f\" "
               "range=\"0 1\"/><geom type=\"mesh\" mesh=\"c\" mass=\"0.1\"/></body>"
               "</mujocoinclude>");
  // in radians, with defaults and meshes of its own
  folder.Write("hands/hand.xml",
               "<mujoco model=\"hand\"><compiler angle=\"radian\" meshdir=\"meshes\"/><default>"
               "<joint damping=\"3\"/></default><asset><mesh name=\"c\" file=\"cube.obj\"/></asset>"
               "<worldbody><body name=\"palm\" pos=\"1 0 0\"><geom size=\"0.1\" mass=\"1\"/>"
               "<site name=\"tip\"/><include file=\"finger.xml\"/></body>"
               "<body name=\"stand\"><joint name=\"s\"/><geom size=\"0.1\"/></body></worldbody>"
               "<actuator><motor name=\"drive\" joint=\"f\"/><motor joint=\"s\"/></actuator>"
               "<contact><exclude body1=\"palm\" body2=\"finger\"/></contact></mujoco>");
  const auto with = [&](const std::string& body, const std::string& more = "") {
    return folder.Write(
        "arm.xml",
        absl::StrCat("<mujoco><asset><model name=\"h\" file=\"hands/hand.xml\"/></asset><default>"
                     "<joint damping=\"7\"/></default><worldbody><body name=\"arm\"><joint "
                     "name=\"a\" range=\"0 90\"/><geom size=\"0.1\" mass=\"2\"/><frame "
                     "pos=\"0 2 0\">",
                     body, "</frame></body></worldbody>", more, "</mujoco>"));
  };
  const RobotFileResult result =
      ReadRobotFile(with("<attach model=\"h\" body=\"palm\" prefix=\"left_\"/>"
                         "<attach model=\"h\" body=\"palm\" prefix=\"right_\"/>",
                         "<equality><joint joint1=\"left_f\" joint2=\"right_f\"/></equality>"),
                    {.jail = folder.path()});
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_EQ(result.robot->links.size(), 5u);
  const RobotLink& palm = LinkOf(*result.robot, "right_palm");
  EXPECT_EQ(result.robot->links[palm.parent].name, "arm");
  EXPECT_EQ(palm.joint.X_PF.p, Vector3d(1, 2, 0));
  const RobotLink& finger = LinkOf(*result.robot, "left_finger");
  EXPECT_EQ(finger.joint.name, "left_f");
  EXPECT_EQ(finger.joint.upper, 1);
  EXPECT_EQ(finger.joint.damping, 3);
  EXPECT_EQ(finger.mass, 0.1);
  EXPECT_EQ(LinkOf(*result.robot, "arm").joint.damping, 7);
  // the motor of the stand, which is not attached, goes with it
  ASSERT_EQ(result.robot->actuators.size(), 2u);
  EXPECT_EQ(result.robot->actuators[0].name, "left_drive");
  EXPECT_EQ(result.robot->couplers.size(), 1u);
  EXPECT_EQ(result.robot->excluded_contacts.size(), 2u);

  // all that is in the world of the model
  const RobotFileResult all = ReadRobotFile(with("<attach model=\"h\" prefix=\"x_\"/>"));
  ASSERT_TRUE(all.robot.has_value());
  EXPECT_EQ(all.robot->actuators.size(), 2u);
  EXPECT_EQ(LinkOf(*all.robot, "x_stand").joint.X_PF.p, Vector3d(0, 2, 0));

  EXPECT_THAT(SayAll(ReadRobotFile(with("<attach model=\"h\" body=\"paw\"/>")), true),
              Contains(HasSubstr("model \"h\" has no body \"paw\"")));
  EXPECT_THAT(SayAll(ReadRobotFile(with("<attach model=\"foot\"/>")), true),
              Contains(HasSubstr("there is no model \"foot\" among the assets")));
  EXPECT_THAT(SayAll(ReadRobotFile(with("<attach model=\"h\" body=\"palm\"/>"
                                        "<attach model=\"h\" body=\"palm\"/>")),
                     true),
              Contains(HasSubstr("the name is already taken. Give the attachment a prefix")));
  // a model that attaches itself
  folder.Write("hands/hand.xml",
               "<mujoco><asset><model name=\"h\" file=\"hand.xml\"/></asset><worldbody><body "
               "name=\"palm\"><geom size=\"0.1\"/><attach model=\"h\" prefix=\"i\"/></body>"
               "</worldbody></mujoco>");
  EXPECT_THAT(SayAll(ReadRobotFile(with("<attach model=\"h\"/>")), true),
              Contains(HasSubstr("attached to each other more than 8 deep")));
}

TEST(Mjcf, AFileIsIncludedOnce) {
  const RobotFolder folder;
  const std::string path =
      folder.Write("m.xml", "<mujoco><include file=\"m.xml\"/><worldbody/></mujoco>");
  EXPECT_THAT(SayAll(ReadRobotFile(path), true), Contains(HasSubstr("is already included")));
}

TEST(Mjcf, WhatIsNotSupportedIsListed) {
  const auto warnings =
      WarningsOf(World("<body name=\"a\"><joint name=\"j\"/><geom size=\"0.1\" solref=\"0.1 1\"/>"
                       "<geom size=\"0.1\" margin=\"0.1\"/><composite type=\"cable\"/></body>"
                       "<flexcomp name=\"f\" type=\"grid\" count=\"3 3 1\"/>",
                       "<option timestep=\"0.01\"/><sensor/><tendon><spatial/><spatial "
                       "armature=\"1\"/></tendon>"
                       "<actuator><muscle joint=\"j\"/><motor site=\"s\"/></actuator>"
                       "<equality><joint joint1=\"j\" polycoef=\"0 0 1 0 0\"/>"
                       "<connect body1=\"B_last\" body2=\"a\" anchor=\"0 0 0\"/></equality>"));
  EXPECT_THAT(warnings, Contains(HasSubstr("<option> is left out")));
  EXPECT_THAT(warnings, Contains(HasSubstr("<sensor> is left out")));
  EXPECT_THAT(warnings, Contains(HasSubstr("<composite> of a body is left out")));
  EXPECT_THAT(warnings, Contains(HasSubstr("flexcomp with dim 2 is left out")));
  EXPECT_THAT(warnings, Contains(testing::AllOf(HasSubstr("margin, gap or priority of a geom"),
                                                HasSubstr("(2 times)"))));
  EXPECT_THAT(warnings, Contains(HasSubstr("<spatial> tendon is left out (2 times)")));
  EXPECT_THAT(warnings, Contains(HasSubstr("armature of a tendon is left out: joints move as if")));
  EXPECT_THAT(warnings, Contains(HasSubstr("<muscle> actuator is left out")));
  EXPECT_THAT(warnings, Contains(HasSubstr("<motor> actuator on a site is left out")));
  EXPECT_THAT(warnings, Contains(HasSubstr("equality that is not linear")));
  // the composite may have created the body
  EXPECT_THAT(warnings, Contains(HasSubstr("is left out, because there is no body \"B_last\"")));
}

TEST(Mjcf, MistakesAreRefused) {
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><joint/><freejoint/><geom size=\"1\"/></body>")),
              Contains(HasSubstr("a free joint must be the only joint")));
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><geom class=\"no\" size=\"1\"/></body>")),
              Contains(HasSubstr("there is no default class \"no\"")));
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><joint/><geom type=\"box\" size=\"1\"/></body>")),
              Contains(HasSubstr("has 1 number; expected 3 numbers")));
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><geom type=\"mesh\" mesh=\"m\"/></body>")),
              Contains(HasSubstr("there is no mesh \"m\"")));
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><geom size=\"1\"/></body><body name=\"a\"/>")),
              Contains(HasSubstr("body \"a\": the name is already taken")));
  EXPECT_THAT(ErrorsOf(World("<body name=\"a\"><joint/><geom type=\"plane\" size=\"1 1 1\"/>"
                             "</body>")),
              Contains(HasSubstr("a plane cannot move")));
  EXPECT_THAT(ErrorsOf(World("<joint/>")), Contains(HasSubstr("is in the world")));
  EXPECT_THAT(ErrorsOf(World("<replicate count=\"99999\"><replicate count=\"99999\"><body>"
                             "<geom size=\"1\"/></body></replicate></replicate>")),
              Contains(testing::AnyOf(HasSubstr("after replication"), HasSubstr("links"))));
}

}  // namespace
}  // namespace pliant::physics
