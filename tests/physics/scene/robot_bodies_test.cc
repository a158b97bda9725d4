// Contents of robot files that reach the world besides joints: soft bodies, weights, contact masks,
// and meshes of the base.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "tests/physics/scene/robot_files/robot_text.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

// Loads a scene of one robot with the file `text`; `robot` is added to its entry, `rest` to the
// scene.
SceneResult LoadRobot(const std::string& text, const std::string& robot = "",
                      const std::string& rest = "") {
  const RobotFolder folder;
  folder.Write("window.obj", WindowObj());
  folder.Write("robot.xml", text);
  return LoadSceneFile(folder.Write(
      "scene.yaml", absl::StrCat("name: robots\nrobots:\n  - name: r\n    file: robot.xml\n", robot,
                                 "\n", rest, "\n")));
}

std::shared_ptr<const Model> BuildRobot(const std::string& text, const std::string& robot = "",
                                        const std::string& rest = "", bool silent = true) {
  const SceneResult result = LoadRobot(text, robot, rest);
  for (const SceneMessage& message : result.messages) {
    if (message.error || silent) ADD_FAILURE() << Format(message);
  }
  return result.model;
}

std::string WarningOf(const SceneResult& result) {
  std::string text;
  for (const SceneMessage& message : result.messages) {
    EXPECT_FALSE(message.error) << Format(message);
    text += Format(message) + "\n";
  }
  return text;
}

std::string MjcfOf(const std::string& worldbody) {
  return "<mujoco><worldbody>" + worldbody + "</worldbody></mujoco>";
}

const Body& FindBodyOf(const Model& model, const std::string& name) {
  const int body = FindBody(model, name);
  EXPECT_GE(body, 0) << name;
  return model.bodies[std::max(body, 0)];
}

// True if the model's pairs disable contact between the two bodies.
bool AreParted(const Model& model, const std::string& a, const std::string& b) {
  const auto pair = std::minmax({FindBody(model, a), FindBody(model, b)});
  for (const ContactParameters::Pair& p : model.contact.pairs) {
    if (p.body_a == pair.first && p.body_b == pair.second) return !p.enabled;
  }
  return false;
}

constexpr char kJelly[] = R"(
  <flexcomp name="jelly" type="grid" dim="3" count="3 4 5" spacing="0.1 0.1 0.05" pos="0 0 1"
            mass="1.2">
    <elasticity young="2e4" poisson="0.3" damping="0.02"/>
        <contact friction="0.4" selfcollide="none"/>
    <pin gridrange="0 0 4 2 3 4"/>
  </flexcomp>)";

TEST(RobotDeformables, AFlexcompHangsByItsPins) {
  const auto model = BuildRobot(MjcfOf(kJelly), "    pose: {position: [2, 0, 0.5]}",
                                "probes:\n"
                                "  - {name: held, position: {body: r/jelly, vertex: 4}}\n"
                                "  - {name: hanging, position: {body: r/jelly, vertex: 0}}");
  ASSERT_NE(model, nullptr);
  const Body& jelly = FindBodyOf(*model, "r/jelly");
  EXPECT_NE(model->abilities_of(jelly).nodes, nullptr);
  EXPECT_FALSE(jelly.self_contact);
  EXPECT_EQ(jelly.X_WB.p, Vector3d(2, 0, 1.5));
  EXPECT_EQ(jelly.mesh.vertices.size(), 60u);
  EXPECT_EQ(jelly.mesh.tetrahedra.size(), 6u * 2 * 3 * 4);
  // vertices are numbered as in the file: z fastest, then y
  EXPECT_LE((jelly.mesh.vertices[1] - Vector3d(-0.1, -0.15, -0.05)).norm(), 1e-15);
  EXPECT_LE((jelly.mesh.vertices[5] - Vector3d(-0.1, -0.05, -0.1)).norm(), 1e-15);
  // the volume is 0.2 · 0.3 · 0.2 m³
  EXPECT_NEAR(jelly.density, 100, 1e-12);
  EXPECT_EQ(jelly.youngs_modulus, 2e4);
  EXPECT_NEAR(model->blocks[jelly.block]->mass(0), 1.2, 1e-14);

  World world(model);
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(world.Step().ok());
  const auto read = [&](int probe) {
    const auto p =
        SampleProbe(*model, model->probes[probe], world.state(), world.report(), 0.01).numbers;
    return Vector3d(p[0], p[1], p[2]);
  };
  EXPECT_LE((read(0) - Vector3d(1.9, -0.15, 1.6)).norm(), 1e-14);
  // ρ g L² / 2 E = 1 mm for a slender bar
  EXPECT_NEAR(1.4 - read(1).z(), 1e-3, 0.5e-3);
}

TEST(RobotDeformables, TheyTouchTheWorldWithTheFilesFriction) {
  const auto model =
      BuildRobot(MjcfOf(R"(<geom type="plane" size="1 1 1" friction="0.6 0 0"/>
        <flexcomp name="cube" type="box" dim="3" count="3 3 3" spacing="0.05 0.05 0.05"
                  pos="0 0 0.0501" mass="1">
          <elasticity young="1e5" poisson="0.3" damping="0.02"/>
              <contact friction="0.4" selfcollide="bvh"/></flexcomp>)"),
                 "", "probes:\n  - {name: f, contact_force: {body: r/cube, with: r/world}}", false);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(FindBodyOf(*model, "r/cube").self_contact);
  ASSERT_EQ(model->contact.pairs.size(), 1u);
  EXPECT_EQ(model->contact.pairs[0].friction, 0.5);  // mean of 0.6 and 0.4
  EXPECT_TRUE(model->contact.pairs[0].enabled);
  World world(model);
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(world.Step().ok());
  const auto force =
      SampleProbe(*model, model->probes[0], world.state(), world.report(), 0.01).numbers;
  EXPECT_NEAR(force[2], 9.81, 1e-3);
  // the scene overrides the file
  const auto smooth =
      BuildRobot(MjcfOf(absl::StrCat("<geom type=\"plane\" size=\"1 1 1\"/>", kJelly)), "",
                 "pairs: [{bodies: [r/jelly, r/world], friction: 0}]");
  ASSERT_NE(smooth, nullptr);
  EXPECT_EQ(smooth->contact.pairs[0].friction, 0);
}

TEST(RobotDeformables, OnesPinnedToALinkMoveWithIt) {
  const std::string text = MjcfOf(
      absl::StrCat("<body name=\"arm\"><joint name=\"hinge\" axis=\"0 1 0\"/><geom type=\"box\" "
                   "size=\"1 0.1 0.1\" pos=\"1 0 1.5\"/>",
                   kJelly, "</body>"));
  const auto model = BuildRobot(text, "    joint_positions: {hinge: 0.7}");
  ASSERT_NE(model, nullptr);
  const Body &arm = FindBodyOf(*model, "r/arm"), &jelly = FindBodyOf(*model, "r/jelly");
  // it starts where the file puts it relative to the arm
  const auto straight = BuildRobot(text);
  const RigidTransform X_AJ =
      FindBodyOf(*straight, "r/arm").X_WB.Inverse() * FindBodyOf(*straight, "r/jelly").X_WB;
  EXPECT_LE(((arm.X_WB * X_AJ).p - jelly.X_WB.p).norm(), 1e-15);
  EXPECT_LE(((arm.X_WB * X_AJ).R - jelly.X_WB.R).norm(), 1e-15);
  // its pins stay on the arm: at 1.5 rad/s, 2.4 m from the hinge, the arc of a step deviates from
  // its tangent by h²ω²r/2 = 0.3 mm
  World world(model);
  for (int k = 0; k < 50; ++k) ASSERT_TRUE(world.Step().ok());
  const RigidTransform X_WA = CalcBodyPose(*model, world.state(), FindBody(*model, "r/arm"));
  EXPECT_GT((X_WA.R - arm.X_WB.R).norm(), 0.05);
  ASSERT_FALSE(model->constraints.empty());
  for (const Constraint& constraint : model->constraints) {
    const auto q = model->Positions(world.state(), jelly.block);
    EXPECT_LE((X_WA * constraint.X_AF.p - Vector3d::Map(&q[3 * constraint.node_b])).norm(), 1e-3);
  }
}

TEST(RobotDeformables, OnesPinnedToABaseThatIsFixedStay) {
  const std::string base =
      MjcfOf(absl::StrCat("<body name=\"base\"><geom size=\"0.1\"/>", kJelly, "</body>"));
  const auto model = BuildRobot(base, "    base: FIXED");
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(AreParted(*model, "r/base", "r/jelly"));
}

TEST(RobotDeformables, SdfLinksAreMeshedAndCopiedWithTheirRobot) {
  const std::string text = R"(<sdf version="1.8"><model name="m">
    <link name="egg"><pose>0 0 0.3 0 0 0</pose>
      <collision name="c"><geometry><ellipsoid><radii>0.03 0.02 0.04</radii></ellipsoid>
          </geometry></collision>
      <drake:deformable_properties><drake:youngs_modulus>5e4</drake:youngs_modulus>
        <drake:mass_density>900</drake:mass_density></drake:deformable_properties></link>
  </model></sdf>)";
  const auto model =
      BuildRobot(text, "    template: true",
                 "instances: [{of: r, poses: [{position: [0, 0, 0]}, {position: [1, 0, 0]}]}]");
  ASSERT_NE(model, nullptr);
  const Body& egg = FindBodyOf(*model, "r_1/egg");
  EXPECT_EQ(egg.X_WB.p, Vector3d(1, 0, 0.3));
  // the mesh is inscribed in the ellipsoid
  const double volume = 4 * 3.14159265 / 3 * 0.03 * 0.02 * 0.04;
  const double meshed = model->blocks[egg.block]->mass(0) / 900;
  EXPECT_LT(meshed, volume);
  EXPECT_GT(meshed, 0.9 * volume);
}

TEST(RobotWeights, GravityCompensationCarriesALink) {
  // compensates half of the weight, all of it, and more
  const std::string text = MjcfOf(R"(
    <body name="half" gravcomp="0.5"><freejoint/><geom size="0.1" pos="0.05 0 0"/></body>
    <body name="none" gravcomp="1" pos="1 0 0"><freejoint/><geom size="0.1" pos="0.05 0 0"/></body>
    <body name="more" gravcomp="3" pos="2 0 0"><freejoint/><geom size="0.1" pos="0.05 0 0"/>
        </body>)");
  const auto model = BuildRobot(text, "",
                                "probes:\n  - {name: e, energy: {kind: TOTAL, body: r/more}}\n"
                                "  - {name: all, energy: {kind: TOTAL}}");
  ASSERT_NE(model, nullptr);
  World world(model);
  const auto read = [&](int probe) {
    return SampleProbe(*model, model->probes[probe], world.state(), world.report(), 0.01)
        .numbers[0];
  };
  const double e = read(0), all = read(1);
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.Step().ok());
  // h² (1 + 2 + … + 10) g
  const double fall = 1e-4 * 55 * 9.81;
  for (const auto& [name, part] : {std::pair("r/half", 0.5), {"r/none", 0.0}, {"r/more", -2.0}}) {
    const RigidTransform X = CalcBodyPose(*model, world.state(), FindBody(*model, name));
    EXPECT_NEAR(X.p.z(), -part * fall, 1e-12) << name;
    EXPECT_LE((X.R - Eigen::Matrix3d::Identity()).norm(), 1e-12) << name;
  }
  // backward Euler loses ½ m (h g)² per step and body; a ball of 1000 kg/m³ has 4.19 kg
  const double mass = 1000 * 4.18879020478639 * 1e-3;
  const auto lost = [&](double part) { return 10 * 0.5 * mass * part * part * 9.81 * 9.81 * 1e-4; };
  EXPECT_NEAR(e - read(0), lost(2), 1e-9);
  EXPECT_NEAR(all - read(1), lost(2) + lost(0.5), 1e-9);
}

TEST(RobotWeights, AnSdfLinkMayHaveNone) {
  const std::string text = R"(<sdf version="1.8"><model name="m"><link name="l"><gravity>0</gravity>
    <inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia>
        </inertial></link></model></sdf>)";
  const auto model = BuildRobot(text, "    base: FREE", "", false);
  ASSERT_NE(model, nullptr);
  World world(model);
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(CalcBodyPose(*model, world.state(), FindBody(*model, "r/l")).p, Vector3d(0, 0, 0));
}

TEST(ContactMasks, HoldTowardsAllBodiesOfTheScene) {
  const std::string text = MjcfOf(R"(
    <body name="usual" pos="0 0 0.2"><freejoint/><geom size="0.1"/></body>
    <body name="ghost" pos="1 0 0.2"><freejoint/><geom size="0.1" contype="2" conaffinity="2"/>
        </body>
    <body name="other" pos="2 0 0.2"><freejoint/><geom size="0.1" contype="2" conaffinity="0"/>
        </body>
    <body name="wide" pos="3 0 0.2"><freejoint/><geom size="0.1" contype="0" conaffinity="3"/>
        </body>)");
  const auto model =
      BuildRobot(text, "",
                 "bodies: [{name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]\n"
                 "pairs: [{bodies: [floor, r/other], enabled: true}]");
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(AreParted(*model, "r/usual", "floor"));
  EXPECT_TRUE(AreParted(*model, "r/ghost", "floor"));
  EXPECT_TRUE(AreParted(*model, "r/ghost", "r/usual"));
  EXPECT_FALSE(AreParted(*model, "r/ghost", "r/other"));
  EXPECT_FALSE(AreParted(*model, "r/wide", "floor"));
  EXPECT_FALSE(AreParted(*model, "r/wide", "r/ghost"));
  EXPECT_FALSE(AreParted(*model, "r/other", "floor"));  // the scene overrides it
  World world(model);
  for (int k = 0; k < 60; ++k) ASSERT_TRUE(world.Step().ok());
  const auto height = [&](const char* name) {
    return CalcBodyPose(*model, world.state(), FindBody(*model, name)).p.z();
  };
  EXPECT_NEAR(height("r/usual"), 0.1, 1e-3);
  EXPECT_LT(height("r/ghost"), -1);
  EXPECT_NEAR(height("r/other"), 0.1, 1e-3);
}

TEST(ContactMasks, ThatDifferOnALinkAreSaid) {
  const std::string text = MjcfOf(R"(
    <body name="both"><freejoint/><geom size="0.1"/>
        <geom size="0.1" pos="0 0 1" contype="2" conaffinity="2"/></body>
    <body name="usual" pos="1 0 0"><freejoint/><geom size="0.1"/></body>)");
  EXPECT_THAT(WarningOf(LoadRobot(text)),
              HasSubstr("the shapes of \"r/both\" have different contact masks"));
}

TEST(RobotBase, AFixedOneKeepsItsTrianglesAndNeedsNoInertia) {
  const std::string text = R"(<robot name="r"><link name="base">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="window.obj"/></geometry></collision></link></robot>)";
  const auto fixed = BuildRobot(text, "    base: FIXED", "", false);
  ASSERT_NE(fixed, nullptr);
  const Body& base = FindBodyOf(*fixed, "r/base");
  ASSERT_EQ(base.shapes.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<SurfaceMesh>(base.shapes[0].geometry));
  // its inertia is not physical, which matters only for a free base, and is then corrected
  EXPECT_TRUE(LoadRobot(text, "    base: FREE").ok());
  EXPECT_FALSE(LoadRobot(text, "    base: FREE\n    strict: true").ok());
}

}  // namespace
}  // namespace pliant::physics
