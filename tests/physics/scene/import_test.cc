#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/import/choose_files.h"
#include "physics/scene/import/import_files.h"
#include "physics/scene/import/imported_robot.h"
#include "physics/scene/robot_files/parts/files_by_name.h"
#include "physics/scene/scene.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"
#include "tests/physics/scene/robot_files/robot_text.h"

namespace pliant::physics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string LinkWith(const std::string& name) {
  return absl::StrCat("<link name=\"", name,
                      "\"><inertial><mass value=\"1\"/><inertia ixx=\"0.01\" iyy=\"0.01\" "
                      "izz=\"0.01\"/></inertial><collision><geometry><box size=\"0.1 0.1 0.2\"/>"
                      "</geometry></collision></link>");
}

std::string JointBetween(const std::string& name, const std::string& parent,
                         const std::string& child, const std::string& type = "revolute",
                         const std::string& more = "") {
  return absl::StrCat("<joint name=\"", name, "\" type=\"", type, "\"><parent link=\"", parent,
                      "\"/><child link=\"", child,
                      "\"/><origin xyz=\"0 0 0.3\"/><axis xyz=\"1 0 0\"/><limit lower=\"-1\" "
                      "upper=\"1\" effort=\"100\" velocity=\"2\"/>",
                      more, "</joint>");
}

// An arm of two joints with a gripper of two fingers, the second a mimic, and a camera on the hand.
std::string Arm() {
  std::string links;
  for (const char* name : {"base", "upper", "hand", "left", "right", "camera"})
    links += LinkWith(name);
  return absl::StrCat("<robot name=\"arm\">", links, JointBetween("j1", "base", "upper"),
                      JointBetween("j.2", "upper", "hand"),
                      JointBetween("l", "hand", "left", "prismatic"),
                      JointBetween("r", "hand", "right", "prismatic", "<mimic joint=\"l\"/>"),
                      JointBetween("c", "hand", "camera", "fixed"), "</robot>");
}

constexpr char kTetrahedra[] =
    "MeshVersionFormatted 2\nDimension 3\nVertices\n5\n0 0 0 0\n100 0 0 0\n0 100 0 0\n0 0 100 0\n"
    "100 100 100 0\nTetrahedra\n2\n1 2 3 4 1\n2 3 4 5 2\nEnd\n";

// A ball of 4 n (n − 1) triangles.
std::string BallObj(int n) {
  std::string text;
  const TriangleMesh ball = MakeSphereSurface(n, 0.1);
  for (const Eigen::Vector3d& p : ball.vertices)
    absl::StrAppend(&text, "v ", p.x(), " ", p.y(), " ", p.z(), "\n");
  for (const auto& [a, b, c] : ball.triangles)
    absl::StrAppend(&text, "f ", a + 1, " ", b + 1, " ", c + 1, "\n");
  return text;
}

void ExpectLoads(const SceneResult& result) {
  for (const SceneMessage& message : result.messages)
    EXPECT_FALSE(message.error) << Format(message);
  EXPECT_TRUE(result.ok());
}

TEST(Import, ARobotIsHeldAtItsRestPoseOnAFloor) {
  const RobotFolder folder;
  const SceneResult result = LoadSceneFile(folder.Write("arm.urdf", Arm()));
  ExpectLoads(result);
  ASSERT_TRUE(result.ok());
  const Model& model = *result.model;
  ASSERT_THAT(model.robots, SizeIs(1));
  EXPECT_EQ(model.robots[0].name, "arm");
  // all joints but the mimic are driven
  EXPECT_THAT(model.actuators, SizeIs(3));
  for (const Actuator& actuator : model.actuators)
    EXPECT_EQ(actuator.kind, Actuator::Kind::kPosition);
  // the hand carries both fingers
  ASSERT_THAT(model.controllers, SizeIs(1));
  EXPECT_EQ(model.controllers[0].name, "arm/hand");
  EXPECT_EQ(model.bodies[0].name, "floor");
  // the base stands on the floor, which its box would reach into by 0.1 m
  const auto base = std::find_if(model.bodies.begin(), model.bodies.end(),
                                 [](const Body& body) { return body.name == "arm/base"; });
  ASSERT_NE(base, model.bodies.end());
  EXPECT_NEAR(base->X_WB.p.z(), 0.1, 1e-12);
}

TEST(Import, LinksMayHaveSlashesInTheirNames) {
  const RobotFolder folder;
  const std::string text = absl::StrReplaceAll(Arm(), {{"\"hand\"", "\"tool/hand\""}});
  const SceneResult result = LoadSceneFile(folder.Write("arm.urdf", text));
  ExpectLoads(result);
  ASSERT_TRUE(result.ok());
  ASSERT_THAT(result.model->controllers, SizeIs(1));
  EXPECT_EQ(result.model->controllers[0].name, "arm/tool_hand");
}

TEST(Import, TipsAreTheEndsOfLongBranches) {
  std::string links;
  for (const char* name : {"trunk", "a1", "a2", "b1", "b2", "tool"}) links += LinkWith(name);
  const RobotDescription robot = ReadGood(absl::StrCat(
      "<robot name=\"legs\">", links, JointBetween("j1", "trunk", "a1"),
      JointBetween("j2", "a1", "a2"), JointBetween("k1", "trunk", "b1"),
      JointBetween("k2", "b1", "b2"), JointBetween("f", "b2", "tool", "fixed"), "</robot>"));
  EXPECT_THAT(FindTips(robot), ElementsAre("a2", "tool"));
  const std::vector<ImportedDrive> drives = ChooseDrives(robot);
  ASSERT_THAT(drives, SizeIs(4));
  for (const ImportedDrive& drive : drives) {
    EXPECT_GT(drive.stiffness, 0);
    EXPECT_LE(drive.damping * 2, 0.5 * 100);  // at the velocity limit, half of the effort limit
  }
}

TEST(Import, AMeshInMillimetresBecomesASoftBodyAboveTheFloor) {
  const RobotFolder folder;
  const SceneResult result = LoadSceneFile(folder.Write("part.mesh", kTetrahedra));
  ExpectLoads(result);
  ASSERT_TRUE(result.ok());
  const Body& part = result.model->bodies.at(1);
  EXPECT_EQ(part.name, "part");
  EXPECT_THAT(part.mesh.tetrahedra, SizeIs(2));
  double lowest = 1, size = 0;
  for (const Eigen::Vector3d& p : part.mesh.vertices) {
    lowest = std::min(lowest, p.z());
    size = std::max(size, p.x());
  }
  EXPECT_GE(lowest, 0);
  EXPECT_LT(size, 0.2);
}

TEST(Import, SeveralFilesMakeOneWorldSideBySide) {
  const RobotFolder folder;
  const std::string arm = folder.Write("arm.urdf", Arm());
  const std::string again = folder.Write("other/arm.urdf", Arm());
  const std::string part = folder.Write("part.mesh", kTetrahedra);
  ExpectLoads(LoadSceneFiles({arm, again, part}));
  const auto yaml = WriteSceneOf({arm, again, part}, folder.path());
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_THAT(yaml->yaml, HasSubstr("file: \"arm.urdf\""));
  EXPECT_THAT(yaml->yaml, HasSubstr("name: arm_2\n    file: \"other/arm.urdf\""));
  EXPECT_THAT(yaml->yaml, HasSubstr("scale: 0.001"));
  EXPECT_THAT(yaml->yaml, HasSubstr("joint: \"j\\\\.2\""));
  EXPECT_THAT(yaml->yaml, HasSubstr("# "));
  // the written scene loads
  ExpectLoads(LoadSceneFile(folder.Write("scene.yaml", yaml->yaml)));
}

TEST(Import, ASurfaceIsFilledWithAboutFiveThousandTetrahedra) {
  const RobotFolder folder;
  const auto yaml = WriteSceneOf({folder.Write("cube.obj", CubeObj(1))}, folder.path());
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_THAT(yaml->yaml, HasSubstr("max_tetrahedra: 10000"));
  EXPECT_THAT(yaml->yaml, HasSubstr("time_step: 0.01\n"));
  const SceneResult scene = LoadSceneFile(folder.Write("scene.yaml", yaml->yaml));
  ASSERT_TRUE(scene.ok());
  const std::size_t count = scene.model->bodies.back().mesh.tetrahedra.size();
  EXPECT_GT(count, 3500u);
  EXPECT_LT(count, 6500u);
  // it is drawn as it is, with its 12 triangles divided, so that they show how it deforms
  const EmbeddedSurface& shown = scene.model->bodies.back().embedded;
  ASSERT_EQ(shown.parts.size(), 1u);
  EXPECT_GT(shown.parts[0].triangles.size(), 1000u);
}

TEST(Import, APartWithThinWallsAndSmallHolesIsStillQuick) {
  // a plate as thin as an edge of the five thousand tetrahedra, and a hole narrower than that
  const RobotFolder folder;
  std::string text;
  const TriangleMesh plate =
      MakeDrilledPrism({{0, 0}, {1, 0}, {1, 1}, {0, 1}}, 1, {0.5, 0.5}, 0.01, 24, 0, 0.02);
  for (const Eigen::Vector3d& p : plate.vertices)
    absl::StrAppend(&text, "v ", p.x(), " ", p.y(), " ", p.z(), "\n");
  for (const auto& [a, b, c] : plate.triangles)
    absl::StrAppend(&text, "f ", a + 1, " ", b + 1, " ", c + 1, "\n");
  const SceneResult result = LoadSceneFile(folder.Write("plate.obj", text));
  ExpectLoads(result);
  ASSERT_TRUE(result.ok());
  const std::size_t count = result.model->bodies.back().mesh.tetrahedra.size();
  EXPECT_GT(count, 3500u);
  EXPECT_LT(count, 30000u);
}

TEST(Import, AFineSurfaceIsDrawnOverItsTetrahedra) {
  const RobotFolder folder;
  const auto yaml = WriteSceneOf({folder.Write("ball.obj", BallObj(60))}, folder.path());
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_THAT(yaml->yaml, HasSubstr("      visual: {file: \"ball.obj\"}"));
  const SceneResult scene = LoadSceneFile(folder.Write("scene.yaml", yaml->yaml));
  ASSERT_TRUE(scene.ok());
  ASSERT_EQ(scene.model->bodies.back().embedded.parts.size(), 1u);
  EXPECT_EQ(scene.model->bodies.back().embedded.parts[0].triangles.size(), 4u * 60 * 59);
}

TEST(Import, AVeryFineSurfaceIsNotDrawnUnasked) {
  const RobotFolder folder;
  const auto yaml = WriteSceneOf({folder.Write("ball.obj", BallObj(120))}, folder.path());
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_THAT(yaml->yaml, Not(HasSubstr("visual:")));
}

TEST(Import, ASurfaceWithColoursIsShownAsItIs) {
  const RobotFolder folder;
  folder.Write("cube.mtl", "newmtl red\nKd 1 0 0\n");
  const std::string cube = folder.Write("cube.obj", "mtllib cube.mtl\nusemtl red\n" + CubeObj(300));
  const auto yaml = WriteSceneOf({cube}, folder.path());
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_THAT(yaml->yaml, HasSubstr("      visual: {file: \"cube.obj\", scale: 0.001}\n"));
  const SceneResult scene = LoadSceneFile(folder.Write("scene.yaml", yaml->yaml));
  ASSERT_TRUE(scene.ok());
  const EmbeddedSurface& shown = scene.model->bodies.back().embedded;
  ASSERT_EQ(shown.parts.size(), 1u);
  EXPECT_EQ(shown.parts[0].color, Eigen::Vector4d(1, 0, 0, 1));
}

TEST(Import, WhatIsNeitherRobotNorMeshIsNamed) {
  const RobotFolder folder;
  const std::string text = folder.Write("notes.txt", "hello");
  const std::string broken = folder.Write("broken.urdf", "<robot name=\"r\"><link/></robot>");
  const auto yaml = WriteSceneOf({text, folder.path() + "/none.stl", broken}, folder.path());
  EXPECT_THAT(std::string(yaml.status().message()),
              testing::AllOf(HasSubstr("notes.txt: is neither a robot"),
                             HasSubstr("none.stl: no such file"),
                             HasSubstr("broken.urdf:1: <link>: has no name")));
  EXPECT_FALSE(LoadSceneFiles({text, broken}).ok());
  const std::string scene = folder.Write("scene.yaml", "name: x\nbodies: []\n");
  EXPECT_THAT(std::string(WriteSceneOf({scene, scene}, folder.path()).status().message()),
              HasSubstr("scene.yaml: is a scene already"));
  // a scene stays a scene, and uploads are never imported
  EXPECT_EQ(FindImportKind(folder.Write("a.yaml", "name: x\nbodies: []\n")), ImportKind::kNone);
  SceneOptions jailed;
  jailed.jail = folder.path();
  const SceneResult result = LoadSceneFile(folder.Write("arm.urdf", Arm()), jailed);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.messages, Not(IsEmpty()));
}

TEST(Import, FilesThatAreNotWhatTheirNamesSayAreExplainedAsSuch) {
  const RobotFolder folder;
  const auto first_message = [&](const std::string& name, const std::string& content) {
    const SceneResult result = LoadSceneFile(folder.Write(name, content));
    EXPECT_FALSE(result.ok()) << name;
    return result.messages.empty() ? std::string() : Format(result.messages[0]);
  };
  for (const char* name : {"empty.obj", "empty.ply", "empty.glb", "empty.dae"})
    EXPECT_THAT(first_message(name, ""), HasSubstr("the file is empty; expected a mesh")) << name;
  EXPECT_THAT(first_message("empty.urdf", ""), HasSubstr("the file is empty"));
  EXPECT_THAT(first_message("text.obj", "hello\n"), HasSubstr("expected a surface mesh"));
  EXPECT_THAT(first_message("text.urdf", "hello\n"), HasSubstr("XML"));
}

TEST(Import, MessagesNameTheFilesAndNotTheGeneratedScene) {
  const RobotFolder folder;
  const std::string part = folder.Write("part.obj", CubeObj(1, /*open=*/true));
  const std::string arm = folder.Write(
      "arm.urdf", absl::StrCat("<robot name=\"arm\">\n", LinkWith("base"), "<colour/>\n</robot>"));
  std::vector<std::string> lines;
  for (const SceneMessage& message : LoadSceneFiles({part, arm}).messages)
    lines.push_back(Format(message));
  EXPECT_THAT(lines, testing::UnorderedElementsAre(
                         testing::StartsWith(part + ": warning: has 4 edges with one triangle"),
                         testing::StartsWith(arm + ":2: warning: <colour> ")));
}

TEST(Import, FilesThatOthersNameAreTheirParts) {
  const RobotFolder folder;
  folder.Write("arm.urdf", Arm() + "<!-- hand.obj -->");
  folder.Write("hand.obj", CubeObj(1));
  folder.Write("left-hand.obj", CubeObj(1));
  EXPECT_THAT(*ChooseFiles(folder.path()), ElementsAre("arm.urdf", "left-hand.obj"));
  // files of its package
  folder.Write("meshes/spare.obj", CubeObj(1));
  folder.Write("package.xml", "<package><name>arm</name></package>");
  folder.Write("arm.urdf.xacro", Arm());
  folder.Write("arm.srdf", "<robot name=\"arm\"/>");
  folder.Write("config/gains.yaml", "p: 1\n");
  EXPECT_THAT(*ChooseFiles(folder.path()), ElementsAre("arm.urdf", "left-hand.obj"));
  // a scene is chosen alone
  folder.Write("a.yaml", "name: a\nrobots: [{name: arm, file: arm.urdf}]\n");
  EXPECT_THAT(*ChooseFiles(folder.path()), ElementsAre("a.yaml"));
  folder.Write("b.yaml", "bodies: []\n");
  EXPECT_THAT(std::string(ChooseFiles(folder.path()).status().message()),
              HasSubstr("a.yaml, b.yaml: several scenes"));
}

TEST(Import, MeshesWithoutARobotAreAllChosen) {
  const RobotFolder folder;
  folder.Write("parts/a.obj", CubeObj(1));
  folder.Write("parts/b.mesh", kTetrahedra);
  folder.Write("parts/readme.txt", "hello");
  EXPECT_THAT(*ChooseFiles(folder.path()), ElementsAre("parts/a.obj", "parts/b.mesh"));
}

TEST(Import, FilesAreFoundByTheLongestCommonEndOfTheirPaths) {
  const RobotFolder folder;
  const std::string visual = folder.Write("visual/hand.obj", "v");
  const std::string collision = folder.Write("collision/hand.obj", "c");
  const std::string foot = folder.Write("foot.obj", "f");
  const auto find = [&](const std::string& path) { return FindFileByName(path, folder.path()); };
  EXPECT_EQ(find("package://robot/meshes/collision/hand.obj"), collision);
  EXPECT_EQ(find("..\\visual\\hand.obj"), visual);
  EXPECT_EQ(find("/home/me/foot.obj"), foot);
  EXPECT_EQ(find("hand.obj"), std::nullopt);  // two
  EXPECT_EQ(find("left_foot.obj"), std::nullopt);
  std::filesystem::create_symlink("/etc/passwd", folder.path() + "/passwd");
  EXPECT_EQ(find("passwd"), std::nullopt);
}

}  // namespace
}  // namespace pliant::physics
