// Robots in scenes: the resulting model, and messages about mistakes.

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/scene/text/scene_log.h"
#include "physics/scene/text/yaml_scene.h"
#include "physics/scene/text/yaml_tree.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

using testing::HasSubstr;

// Two links on hinges about y, a slide at the end, and a finger that mimics the slide.
constexpr char kArm[] = R"(<robot name="arm">
  <link name="base"><inertial><mass value="3"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial><collision>
      <geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper">
    <inertial><origin xyz="0 0 0.25"/><mass value="2"/>
        <inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.04" length="0.5"/></geometry>
        </collision>
  </link>
  <link name="hand">
    <inertial><origin xyz="0 0 0.1"/><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <link name="left"><inertial><mass value="0.1"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
      <origin xyz="0 0 0.05"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="hand"/>
      <origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="2"/></joint>
  <joint name="left_finger" type="prismatic"><parent link="hand"/><child link="left"/>
      <origin xyz="0 0 0.2"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
  <joint name="right_finger" type="prismatic"><parent link="hand"/><child link="right"/>
      <origin xyz="0 0 0.2"/><axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/><mimic joint="left_finger"/></joint>
</robot>)";

class RobotScene : public testing::Test {
 protected:
  RobotScene() {
    // tests of one program may run concurrently, so each has its own folder
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        absl::StrCat("robot_scene_", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "arm.urdf") << kArm;
  }
  // Loads a scene; `robot` is added to the robot's entry, `rest` to the scene.
  SceneResult Load(const std::string& robot, const std::string& rest = "") {
    const std::filesystem::path file = folder_ / "scene.yaml";
    std::ofstream(file) << absl::StrCat(
        "name: robots\nrobots:\n  - name: arm\n    file: arm.urdf\n", robot, "\n", rest, "\n");
    return LoadSceneFile(file.string());
  }
  std::string Errors(const std::string& robot, const std::string& rest = "") {
    const SceneResult result = Load(robot, rest);
    EXPECT_FALSE(result.ok());
    std::string text;
    for (const SceneMessage& message : result.messages) text += Format(message) + "\n";
    return text;
  }
  std::shared_ptr<const Model> Build(const std::string& robot, const std::string& rest = "") {
    const SceneResult result = Load(robot, rest);
    for (const SceneMessage& message : result.messages) {
      if (message.error) ADD_FAILURE() << Format(message);
    }
    return result.model;
  }
  std::filesystem::path folder_;
};

constexpr char kDrives[] =
    "    actuators: [{joint: '.*', pd: {stiffness: 500, damping: 50, gravity_compensation: true}}]";

TEST_F(RobotScene, LinksAreBodiesAndTheFixedBaseBelongsToTheWorld) {
  const auto model = Build("    pose: {position: [0, 0, 1]}");
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->bodies.size(), 5u);
  EXPECT_EQ(model->blocks.size(), 1u);
  const Body& base = model->bodies[FindBody(*model, "arm/base")];
  EXPECT_EQ(base.motion, Motion::kFixed);
  EXPECT_EQ(base.X_WB.p.z(), 1);
  const Body& hand = model->bodies[FindBody(*model, "arm/hand")];
  EXPECT_EQ(hand.motion, Motion::kFree);
  EXPECT_NEAR(hand.X_WB.p.z(), 1.55, 1e-15);
  EXPECT_EQ(hand.mass, 1);
  EXPECT_EQ(model->robots[0].joints.size(), 4u);
  EXPECT_EQ(model->constraints.size(), 1u);  // the mimic joint
}

// A door that touches a wall along the axis of its hinge, where nothing moves it, and beside it.
TEST_F(RobotScene, AContactOnTheAxisOfAHingeLeavesStepsConverged) {
  std::ofstream(folder_ / "door.urdf") << R"(<robot name="door"><link name="frame"/>
  <link name="door"><inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision>
      <origin xyz="0.25 0.05 0"/><geometry><box size="0.5 0.1 1"/></geometry></collision></link>
  <joint name="hinge" type="continuous"><parent link="frame"/><child link="door"/>
      <origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint></robot>)";
  std::ofstream(folder_ / "scene.yaml") << R"(
name: door
sleeping: false
bodies: [{name: wall, rigid: {motion: FIXED, pose: {position: [0, -0.5, 1]},
    shapes: [{box: {size: [1, 1, 1]}}]}}]
robots: [{name: door, file: door.urdf}]
)";
  World world = World(LoadSceneFile((folder_ / "scene.yaml").string()).model);
  for (int k = 0; k < 5; ++k) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged) << world.report().residual;
  }
  EXPECT_FALSE(world.report().contacts.empty());
}

TEST_F(RobotScene, AFreeBaseFalls) {
  const auto model = Build("    base: FREE\n    pose: {position: [0, 0, 1]}");
  ASSERT_NE(model, nullptr);
  World world(model);
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.Step().ok());
  const Eigen::Vector3d p = CalcBodyPose(*model, world.state(), FindBody(*model, "arm/base")).p;
  EXPECT_NEAR(p.z(), 1 - 9.81 * 1e-4 * 55, 1e-6);
}

TEST_F(RobotScene, DrivesHoldTheInitialPoseWithGravityCompensated) {
  const auto model =
      Build(absl::StrCat("    joint_positions: {shoulder: 0.7, elbow: -0.4, left_finger: 0.02}\n",
                         kDrives),
            R"(probes:
  - {name: q, joint: {robot: arm, joint: shoulder, quantity: POSITION}}
  - {name: tau, joint: {robot: arm, joint: shoulder, quantity: EFFORT}}
  - {name: r, reaction: {joint: arm/shoulder}}
  - {name: right, joint: {robot: arm, joint: right_finger, quantity: POSITION}})");
  ASSERT_NE(model, nullptr);
  World world(model);
  for (int k = 0; k < 300; ++k) ASSERT_TRUE(world.Step().ok());
  const auto read = [&](int probe) {
    return SampleProbe(*model, model->probes[probe], world.state(), world.report(), 0.01).numbers;
  };
  EXPECT_NEAR(read(0)[0], 0.7, 1e-3);
  // the shoulder carries all links beyond it: 3.2 kg
  const std::vector<double> reaction = read(2);
  EXPECT_NEAR(reaction[2], 3.2 * 9.81, 1e-6);
  EXPECT_NEAR(reaction[4], read(1)[0], 1e-4);
  EXPECT_NEAR(read(3)[0], 0.02, 2e-3);
}

TEST_F(RobotScene, AnArmThatHoldsItsPoseSleepsWithItsEffortsUntilATargetMoves) {
  const auto model =
      Build(absl::StrCat("    joint_positions: {shoulder: 0.7}\n", kDrives), R"(probes:
  - {name: q, joint: {robot: arm, joint: shoulder, quantity: POSITION}}
  - {name: tau, joint: {robot: arm, joint: shoulder, quantity: EFFORT}})");
  ASSERT_NE(model, nullptr);
  World world(model);
  const auto read = [&](int probe) {
    return SampleProbe(*model, model->probes[probe], world.state(), world.report(), 0.01)
        .numbers[0];
  };
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.Step().ok());
  ASSERT_EQ(world.report().asleep, 0);
  const double effort = read(1);
  for (int k = 0; k < 250; ++k) ASSERT_TRUE(world.Step().ok());
  ASSERT_EQ(world.report().asleep, 1);
  EXPECT_NEAR(read(1), effort, 1e-3 * std::abs(effort));
  // commanding the current target does not wake it
  const int shoulder = FindActuator(*model, "arm/shoulder");
  Inputs inputs;
  inputs.actuators.push_back({shoulder, world.state().controls[shoulder]});
  ASSERT_TRUE(world.Step(inputs).ok());
  EXPECT_EQ(world.report().asleep, 1);
  inputs.actuators[0].value = 0.5;
  ASSERT_TRUE(world.Step(inputs).ok());
  EXPECT_EQ(world.report().asleep, 0);
  for (int k = 0; k < 300; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(read(0), 0.5, 1e-3);
}

TEST_F(RobotScene, NeighboursDoNotTouchAndTheScenesPairsWin) {
  auto filter = [](const Model& model, const char* a, const char* b) {
    const int i = FindBody(model, a), j = FindBody(model, b);
    for (const ContactParameters::Pair& pair : model.contact.pairs) {
      if (std::minmax(i, j) == std::minmax(pair.body_a, pair.body_b)) return !pair.enabled;
    }
    return false;
  };
  const auto model = Build("");
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(filter(*model, "arm/base", "arm/upper"));
  EXPECT_TRUE(filter(*model, "arm/upper", "arm/hand"));
  EXPECT_FALSE(filter(*model, "arm/base", "arm/hand"));
  const auto touching = Build("", "pairs: [{bodies: [arm/base, arm/upper], enabled: true}]");
  ASSERT_NE(touching, nullptr);
  EXPECT_FALSE(filter(*touching, "arm/base", "arm/upper"));
  const auto apart = Build("    self_collision: false");
  ASSERT_NE(apart, nullptr);
  EXPECT_TRUE(filter(*apart, "arm/base", "arm/hand"));
}

// Loads a scene and returns its messages, and whether two links may touch.
struct Touching {
  std::string messages;
  bool may_touch = true;
};
Touching FindTouching(const SceneResult& result, const char* a, const char* b) {
  Touching touching;
  for (const SceneMessage& message : result.messages) touching.messages += Format(message) + "\n";
  EXPECT_TRUE(result.ok()) << touching.messages;
  if (!result.ok()) return touching;
  const int i = FindBody(*result.model, a), j = FindBody(*result.model, b);
  for (const ContactParameters::Pair& pair : result.model->contact.pairs)
    if (std::minmax(i, j) == std::minmax(pair.body_a, pair.body_b))
      touching.may_touch = pair.enabled;
  return touching;
}

TEST_F(RobotScene, LinksThatStartInsideEachOtherDoNotTouch) {
  std::string text = kArm;
  for (const std::string name : {"left", "right"}) {
    const std::string link = absl::StrCat("<link name=\"", name, "\">");
    text.insert(text.find(link) + link.size(),
                "<collision><geometry><box size=\"0.02 0.03 0.1\"/></geometry></collision>");
  }
  std::ofstream(folder_ / "arm.urdf") << text;
  const auto find = [&](const std::string& robot, const std::string& rest = "") {
    return FindTouching(Load(robot, rest), "arm/left", "arm/right");
  };
  const Touching apart = find("");
  EXPECT_FALSE(apart.may_touch);
  EXPECT_THAT(apart.messages,
              HasSubstr("\"arm/right\" starts 20 mm inside \"arm/left\"; they do not touch"));
  EXPECT_TRUE(find("    self_collision: true").may_touch);
  EXPECT_TRUE(find("", "pairs: [{bodies: [arm/left, arm/right], enabled: true}]").may_touch);
  // other settings of the pair remain
  EXPECT_FALSE(find("", "pairs: [{bodies: [arm/left, arm/right], friction: 0.7}]").may_touch);
  // a warning for all copies
  const SceneResult copies =
      Load("    template: true",
           "instances: [{of: arm, poses: [{position: [0, 0, 0]}, {position: [2, 0, 0]}]}]");
  EXPECT_FALSE(FindTouching(copies, "arm_0/left", "arm_0/right").may_touch);
  const Touching second = FindTouching(copies, "arm_1/left", "arm_1/right");
  EXPECT_FALSE(second.may_touch);
  EXPECT_EQ(second.messages.find("starts"), second.messages.rfind("starts"));
}

// A mug on a table belongs to another tree than the table, although one file has both.
TEST_F(RobotScene, BodiesOfDifferentTreesTouchWhereverTheyStart) {
  std::ofstream(folder_ / "arm.urdf")
      << "<mujoco><worldbody><body name=\"table\"><geom type=\"box\" size=\"1 1 0.1\"/></body>"
         "<body name=\"mug\" pos=\"0 0 0.11\"><freejoint/><geom size=\"0.05\"/></body>"
         "</worldbody></mujoco>";
  const Touching touching = FindTouching(Load(""), "arm/table", "arm/mug");
  EXPECT_TRUE(touching.may_touch);
  EXPECT_THAT(touching.messages, HasSubstr("they part at contact.recovery_speed"));
}

TEST_F(RobotScene, ATemplateIsCopied) {
  const auto model =
      Build("    template: true",
            "instances: [{of: arm, poses: [{position: [0, 0, 0]}, {position: [2, 0, 0]}]}]");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->robots.size(), 2u);
  EXPECT_EQ(model->bodies[FindBody(*model, "arm_1/base")].X_WB.p.x(), 2);
}

TEST_F(RobotScene, ScriptsDriveJointsGrippersAndTwists) {
  const auto model = Build(absl::StrCat(kDrives, R"(
    controllers: [{name: tool, differential_ik: {link: hand}}, {name: grip,
        gripper: {joints: [left_finger], max_force: 5}}])"),
                           R"(
script:
  - {target: {joint: arm/shoulder}, times: [0, 1], values: [0, 0.5]}
  - {target: {gripper: arm/grip}, times: [0], values: [0.03]}
probes:
  - {name: q, joint: {robot: arm, joint: shoulder, quantity: POSITION}}
  - {name: g, joint: {robot: arm, joint: left_finger, quantity: POSITION}})");
  ASSERT_NE(model, nullptr);
  World world(model);
  for (int k = 0; k < 300; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(SampleProbe(*model, model->probes[0], world.state(), world.report(), 0.01).numbers[0],
              0.5, 2e-3);
  EXPECT_NEAR(SampleProbe(*model, model->probes[1], world.state(), world.report(), 0.01).numbers[0],
              0.03, 2e-3);
}

TEST_F(RobotScene, MaximalCoordinatesRefuseAMovingLinkWithoutMass) {
  const std::string maximal = "method: {nonsmooth: {coordinates: MAXIMAL}}";
  const std::string driven = "    actuators: [{joint: \".*\", pd: {stiffness: 100, damping: 10}}]";
  EXPECT_NE(Build(driven, maximal), nullptr);
  std::string text = kArm;
  const auto begin = text.find("<inertial><origin xyz=\"0 0 0.1\"/>");
  text.erase(begin, text.find("</inertial>", begin) + 11 - begin);
  std::ofstream(folder_ / "arm.urdf") << text;
  // the scene's actuators do not hide the error
  EXPECT_THAT(
      Errors(driven, maximal),
      HasSubstr("MAXIMAL does not support robot \"arm\": link \"hand\" moves and has no mass"));
  EXPECT_NE(Build(driven), nullptr);
}

TEST_F(RobotScene, AFreeBaseWithoutMassIsRefused) {
  std::string text = kArm;
  const auto begin = text.find("<inertial>"), end = text.find("</inertial>") + 11;
  text.erase(begin, end - begin);
  std::ofstream(folder_ / "arm.urdf") << text;
  EXPECT_THAT(Errors("    base: FREE"), HasSubstr("\"base\" has none"));
  EXPECT_NE(Build(""), nullptr);
}

TEST_F(RobotScene, MistakesAreNamedWithTheirMend) {
  EXPECT_THAT(Errors("    joint_positions: {sholder: 0.1}"), HasSubstr("shoulder"));
  EXPECT_THAT(Errors("    joint_positions: {shoulder: 3}"), HasSubstr("beyond its limits"));
  EXPECT_THAT(Errors("    actuators: [{joint: 'wheel.*', torque: {}}]"),
              HasSubstr("matches no joint"));
  EXPECT_THAT(Errors("    actuators: [{joint: '(', torque: {}}]"), HasSubstr("regular expression"));
  EXPECT_THAT(Errors("    actuators: [{joint: elbow}]"), HasSubstr("has no kind"));
  EXPECT_THAT(Errors("    actuators: [{joint: elbow, pd: {stiffness: -1}}]"), HasSubstr("-1"));
  EXPECT_THAT(Errors("    controllers: [{name: tool, differential_ik: {link: hand}}]"),
              HasSubstr("no PD actuator"));
  EXPECT_THAT(Errors("    controllers: [{name: grip, gripper: {joints: [left_finger]}}]"),
              HasSubstr("max_force"));
  EXPECT_THAT(Errors("", "script: [{target: {joint: arm/elbow}, times: [0], values: [1]}]"),
              HasSubstr("no actuator"));
  EXPECT_THAT(Errors("", "constraints: [{name: c, weld: {a: arm/hand, b: table}}]"),
              HasSubstr("table"));
  EXPECT_THAT(Errors("", "constraints: [{name: c, coupler: {a: arm/elbow, b: arm/wrist}}]"),
              HasSubstr("arm/wrist"));
  EXPECT_THAT(Errors("", "probes: [{name: p, joint: {robot: arm, joint: wrist}}]"),
              HasSubstr("arm/wrist"));
  EXPECT_THAT(Errors("    file: none.urdf"), HasSubstr("file"));
}

TEST_F(RobotScene, TeleoperationIsThatOfTheScene) {
  const auto model = Build(R"(    actuators:
      - {joint: "shoulder|elbow", pd: {stiffness: 500, damping: 50}, max_stiffness: 800}
      - {joint: left_finger, torque: {}, max_damping: 4}
    controllers: [{name: tool, differential_ik: {link: hand}}]
    teleop:
      fallback: HOLD
      limits: {speed: 0.25, force: 30, lower: [-1, -1, 0]}
      joint_ramp: 0.2
      groups: [{name: body, joints: [shoulder, elbow]}, {name: hand, joints: [".*finger"]}]
      gamepad:
        dead_zone: 0.3
        controls:
          - {axis: 3, tool: tool, twist: [0, 0, 1, 0.5, 0, 0]}
          - {button: 4, joint: "shoulder|elbow", rate: -0.5}
)");
  ASSERT_NE(model, nullptr);
  const Teleoperation& teleop = model->robots[0].teleop;
  EXPECT_EQ(teleop.fallback, Teleoperation::Fallback::kHold);
  EXPECT_EQ(teleop.limits.speed, 0.25);
  EXPECT_EQ(teleop.limits.acceleration, DriveLimits().acceleration);
  EXPECT_EQ(teleop.limits.lower.z(), 0);
  EXPECT_EQ(teleop.limits.upper.z(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(teleop.limits.joint_ramp, 0.2);
  EXPECT_EQ(teleop.groups[0].actuators, (std::vector<int>{0, 1}));
  EXPECT_EQ(teleop.groups[1].actuators, (std::vector<int>{2}));  // not the finger that mimics
  EXPECT_EQ(teleop.gamepad[0].angular_W.z(), 1);
  EXPECT_EQ(teleop.gamepad[0].linear_W.x(), 0.5);
  EXPECT_EQ(teleop.gamepad[1].actuators, (std::vector<int>{0, 1}));
  EXPECT_EQ(model->actuators[0].max_stiffness, 800);
  EXPECT_EQ(model->actuators[0].max_damping, 50);
  EXPECT_EQ(model->actuators[2].max_damping, 4);
}

TEST_F(RobotScene, MistakesInTeleoperationAreNamed) {
  const auto errors = [this](const std::string& teleop) {
    return Errors(absl::StrCat(kDrives, "\n    teleop: ", teleop));
  };
  EXPECT_THAT(errors("{limits: {speed: -1}}"), HasSubstr("teleop.limits.speed: -1"));
  EXPECT_THAT(errors("{limits: {lower: [0, 0, 1], upper: [0, 0, 0]}}"),
              HasSubstr("teleop.limits.upper: is below `lower`"));
  EXPECT_THAT(errors("{groups: [{name: a, joints: [elbow]}, {name: b, joints: ['.*']}]}"),
              HasSubstr("\"elbow\" is in the group \"a\", too"));
  EXPECT_THAT(errors("{groups: [{name: a}]}"), HasSubstr("groups[0].joints"));
  EXPECT_THAT(errors("{gamepad: {hold: 17}}"), HasSubstr("17 is no button"));
  EXPECT_THAT(errors("{gamepad: {controls: [{axis: 4, joint: elbow, rate: 1}]}}"),
              HasSubstr("controls[0].axis: 4"));
  EXPECT_THAT(errors("{gamepad: {controls: [{axis: 0, joint: elbow}]}}"), HasSubstr("how fast"));
  EXPECT_THAT(errors("{gamepad: {controls: [{axis: 0, tool: tool, twist: [0, 0, 0, 1, 0, 0]}]}}"),
              HasSubstr("no differential_ik controller"));
  EXPECT_THAT(errors("{gamepad: {controls: [{button: 0}]}}"), HasSubstr("`joint`"));
  EXPECT_THAT(Errors("", "bodies: [{name: t, rigid: {motion: FIXED, drive: {speed: 1}}}]"),
              HasSubstr("bodies[0].rigid.drive"));
  EXPECT_THAT(Errors("    actuators: [{joint: elbow, torque: {}, max_stiffness: 1}]"),
              HasSubstr("without a stiffness"));
}

TEST_F(RobotScene, AMissingFileIsNamed) {
  const std::filesystem::path file = folder_ / "missing.yaml";
  std::ofstream(file) << "robots: [{name: arm, file: nothing.urdf}]\n";
  const SceneResult result = LoadSceneFile(file.string());
  EXPECT_FALSE(result.ok());
  ASSERT_FALSE(result.messages.empty());
  EXPECT_THAT(Format(result.messages[0]), HasSubstr("nothing.urdf"));
}

// A probe of each kind, and of each way to name what it samples.
constexpr char kProbesOfEveryKind[] = R"(probes:
  - {name: center, position: {body: ball}}
  - {name: vertex, position: {body: ball, vertex: 3}}
  - {name: point, velocity: {link: arm/hand, point: [0, 0, 0.1]}}
  - {name: orientation, orientation: {body: cube}}
  - {name: spin, angular_velocity: {body: ball}}
  - {name: force, contact_force: {body: ball, with: cube}}
  - {name: wrench, wrench: {body: cube}}
  - {name: joint_reaction, reaction: {joint: arm/elbow}}
  - {name: reaction, reaction: {constraint: hold}}
  - {name: energy, energy: {kind: ELASTIC, body: ball}}
  - {name: all_energy, energy: {}}
  - {name: momentum, momentum: {body: arm/upper}}
  - {name: volume, volume: {body: ball}}
  - {name: strain, field: {body: ball, measure: GREEN_STRAIN, reduce: MEAN}}
  - {name: pressure, field: {body: ball, measure: CONTACT_PRESSURE, reduce: MIN}}
  - {name: q, joint: {robot: arm, joint: shoulder, quantity: VELOCITY}}
  - {name: overlap, penetration: {bodies: [ball, cube]}}
  - {name: points, contact_points: {}}
)";
constexpr char kBodiesToProbe[] = R"(bodies:
  - {name: cube, rigid: {motion: FREE, mass: 1, shapes: [{box: {size: [0.1, 0.1, 0.1]}}],
      pose: {position: [1, 0, 0]}}}
  - {name: ball, deformable: {mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05},
      pose: {position: [1, 0, 0.095]},
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}}}
constraints: [{name: hold, weld: {a: world, b: cube}}]
)";
class ProbesOfABuiltModel : public RobotScene {
 protected:
  std::shared_ptr<const Model> BuildWithProbes() {
    return Build("", absl::StrCat(kBodiesToProbe, kProbesOfEveryKind));
  }
  static v1::Scene Read(const std::string& yaml) {
    SceneLog log("probes");
    YamlTree tree;
    EXPECT_FALSE(tree.Parse(yaml).has_value());
    v1::Scene scene;
    YamlReader(&log).ReadMessage(*tree.root(), "", &scene);
    EXPECT_FALSE(log.failed());
    return scene;
  }
  static std::string MessagesOf(const Model& model, const std::string& yaml) {
    std::string text;
    for (const SceneMessage& message :
         CompileProbes(Read(yaml).probes(), "request", "definitions", model).messages)
      text += Format(message) + "\n";
    return text;
  }
};

TEST_F(ProbesOfABuiltModel, AreThoseThatTheSceneDeclares) {
  const auto model = BuildWithProbes();
  ASSERT_NE(model, nullptr);
  const ProbesResult given =
      CompileProbes(Read(kProbesOfEveryKind).probes(), "request", "definitions", *model);
  ASSERT_TRUE(given.ok()) << Format(given.messages[0]);
  ASSERT_EQ(given.probes.size(), model->probes.size());
  World world(model);
  for (int k = 0; k < 5; ++k) ASSERT_TRUE(world.Step().ok());
  for (std::size_t i = 0; i < given.probes.size(); ++i) {
    const auto sample = [&](const Probe& probe) {
      return SampleProbe(*model, probe, world.state(), world.report(), model->time_step);
    };
    const ProbeValue expected = sample(model->probes[i]), value = sample(given.probes[i]);
    EXPECT_EQ(given.probes[i].name, model->probes[i].name);
    EXPECT_EQ(given.probes[i].node, model->probes[i].node) << given.probes[i].name;
    EXPECT_EQ(value.numbers, expected.numbers) << given.probes[i].name;
    EXPECT_EQ(value.rows, expected.rows) << given.probes[i].name;
  }
}

TEST_F(ProbesOfABuiltModel, NeedNoNameAndNameThePlaceOfEachMistake) {
  const auto model = BuildWithProbes();
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(MessagesOf(*model, "probes: [{energy: {}}, {energy: {}}]"), "");
  const std::pair<const char*, const char*> mistakes[] = {
      {"{position: {body: bal}}", "position.body: no body is called \"bal\"; did you mean `ball`?"},
      {"{position: {body: ball, vertex: 500}}", "position.vertex: 500 is not a vertex of \"ball\""},
      {"{position: {body: cube, vertex: 0}}", "position.vertex: \"cube\" is rigid"},
      {"{position: {body: ball, point: [0, 0, 0]}}", "position.point: \"ball\" is deformable"},
      {"{orientation: {body: ball}}", "orientation.body: \"ball\" is deformable"},
      {"{field: {body: cube, measure: GREEN_STRAIN}}", "field.body: \"cube\" is rigid"},
      {"{reaction: {joint: arm/wrist}}", "reaction.joint: no joint is called \"arm/wrist\""},
      {"{joint: {robot: arm, joint: wrist}}", "joint.joint: no joint is called"},
      {"{reaction: {constraint: glue}}", "reaction.constraint: no constraint is called"},
      {"{penetration: {bodies: [ball]}}", "penetration.bodies: 1 name is given"},
      {"{name: a}", "samples nothing"}};
  for (const auto& [definition, message] : mistakes) {
    const std::string text =
        MessagesOf(*model, absl::StrCat("probes: [{energy: {}}, ", definition, "]"));
    EXPECT_THAT(text, testing::StartsWith("request: definitions[1]")) << definition;
    EXPECT_THAT(text, HasSubstr(message)) << definition;
  }
}

}  // namespace
}  // namespace pliant::physics
