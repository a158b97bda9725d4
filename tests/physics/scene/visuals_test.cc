// Visuals of bodies in scenes.

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/scene.h"
#include "tests/physics/scene/robot_files/robot_text.h"
#include "tests/physics/scene/textures/image_bytes.h"

namespace pliant::physics {
namespace {

using ::testing::HasSubstr;

constexpr char kCloth[] =
    "mtllib look.mtl\nv -0.1 -0.1 0.12\nv 0.1 -0.1 0.12\nv 0.1 0.1 0.12\nv 0 0 0\n"
    "vt 0 0\nvt 1 0\nvt 1 1\nusemtl cloth\nf 1/1 2/2 3/3\nf 1/1 2/2 4/3\n";
constexpr char kLook[] = "newmtl cloth\nmap_Kd cloth.png\n";

std::string SceneWith(const std::string& visual, const std::string& more = "") {
  return absl::StrCat(
      "name: v\nbodies:\n"
      "  - name: toy\n    deformable:\n      mesh: {box: {size: [0.2, 0.2, 0.2]}, edge_length: "
      "0.1}\n"
      "      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}\n",
      visual.empty() ? "" : "      visual: {" + visual + "}\n", more);
}

struct Loaded {
  SceneResult result;
  std::string said;
};

Loaded Load(const RobotFolder& folder, const std::string& yaml) {
  SceneOptions options;
  options.jail = folder.path() + "/jail";
  Loaded loaded{LoadSceneFile(folder.Write("jail/scene.yaml", yaml), options), ""};
  for (const SceneMessage& message : loaded.result.messages)
    absl::StrAppend(&loaded.said, message.path, ": ", message.message, "\n");
  return loaded;
}

class Visuals : public ::testing::Test {
 protected:
  Visuals() {
    folder_.Write("jail/toys/cloth.obj", kCloth);
    folder_.Write("jail/toys/look.mtl", kLook);
    folder_.Write("jail/toys/cloth.png", PngBytes(32, 16));
  }
  RobotFolder folder_;
};

TEST_F(Visuals, ASoftBodyCarriesItsVisualWithItsTexture) {
  const Loaded loaded =
      Load(folder_, SceneWith("file: toys/cloth.obj, pose: {position: [0, 0, -0.02]}, scale: 0.5"));
  ASSERT_TRUE(loaded.result.ok()) << loaded.said;
  EXPECT_EQ(loaded.said, "");
  const Body& toy = loaded.result.model->bodies[0];
  ASSERT_EQ(toy.embedded.parts.size(), 1u);
  const EmbeddedPart& part = toy.embedded.parts[0];
  ASSERT_GE(part.nodes.size(), 4u);
  ASSERT_NE(part.appearance, nullptr);
  EXPECT_EQ(part.appearance->image->width, 32);
  EXPECT_EQ(part.appearance->texture_coordinates[1], (std::array<float, 2>{1, 0}));
  // the second vertex is at half of its place in the file, and lower by the pose
  Eigen::Vector3d p = Eigen::Vector3d::Zero();
  for (int k = 0; k < 4; ++k)
    p += static_cast<double>(part.weights[1][k]) * toy.mesh.vertices[part.nodes[1][k]];
  EXPECT_LT((p - Eigen::Vector3d(0.05, -0.05, 0.04)).norm(), 1e-7);  // weights are floats
  // nodes are on the surface or listed
  for (const auto& nodes : part.nodes) {
    for (const int node : nodes)
      EXPECT_TRUE(std::ranges::count(toy.surface.vertices, node) +
                      std::ranges::count(toy.embedded.inner_nodes, node) ==
                  1);
  }
}

TEST_F(Visuals, LongTrianglesAreDividedWithTheirTexture) {
  const Loaded loaded = Load(folder_, SceneWith("file: toys/cloth.obj"));
  ASSERT_TRUE(loaded.result.ok()) << loaded.said;
  const Body& toy = loaded.result.model->bodies[0];
  const EmbeddedPart& part = toy.embedded.parts.at(0);
  ASSERT_GT(part.nodes.size(), 10u);
  EXPECT_GT(part.triangles.size(), 10u);
  const auto& coordinates = part.appearance->texture_coordinates;
  ASSERT_EQ(coordinates.size(), part.nodes.size());
  // the upper triangle's plane has u = x / 0.2 + 1/2 and v = y / 0.2 + 1/2
  int compared = 0;
  for (std::size_t i = 0; i < part.nodes.size(); ++i) {
    Eigen::Vector3d p = Eigen::Vector3d::Zero();
    for (int k = 0; k < 4; ++k)
      p += static_cast<double>(part.weights[i][k]) * toy.mesh.vertices[part.nodes[i][k]];
    if (std::abs(p.z() - 0.12) > 1e-6) continue;
    EXPECT_NEAR(coordinates[i][0], p.x() / 0.2 + 0.5, 1e-5);
    EXPECT_NEAR(coordinates[i][1], p.y() / 0.2 + 0.5, 1e-5);
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

TEST_F(Visuals, ARigidBodyShowsItsVisualInPlaceOfItsShapes) {
  const Loaded loaded =
      Load(folder_,
           "name: v\nbodies:\n  - name: box\n    rigid:\n      motion: FIXED\n"
           "      shapes: [{box: {size: [1, 1, 1]}}]\n      visual: {file: toys/cloth.obj}\n");
  ASSERT_TRUE(loaded.result.ok()) << loaded.said;
  const Body& box = loaded.result.model->bodies[0];
  ASSERT_EQ(box.visuals.size(), 1u);
  EXPECT_EQ(box.shapes.size(), 1u);
  EXPECT_EQ(box.visuals[0].appearance->image->height, 16);
}

TEST_F(Visuals, AppearanceLeavesTheInitialStateAndTheSurfaceAlone) {
  const Loaded plain = Load(folder_, SceneWith(""));
  const Loaded shown = Load(folder_, SceneWith("file: toys/cloth.obj, scale: 0.5"));
  ASSERT_TRUE(plain.result.ok() && shown.result.ok());
  const State a = MakeInitialState(*plain.result.model), b = MakeInitialState(*shown.result.model);
  EXPECT_EQ(a.q, b.q);
  EXPECT_EQ(plain.result.model->bodies[0].surface.vertices,
            shown.result.model->bodies[0].surface.vertices);
}

TEST_F(Visuals, ImagesAndNamesChangeTheHashOfTheContentAlone) {
  const auto load = [&](const std::string& yaml) { return Load(folder_, yaml).result.model; };
  const std::string scene = SceneWith("file: toys/cloth.obj");
  const auto first = load(scene);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(load(scene)->content_hash, first->content_hash);
  folder_.Write("jail/toys/cloth.png", PngBytes(16, 16));
  const auto another_image = load(scene);
  const auto another_name =
      load("# a comment\n" + absl::StrReplaceAll(scene, {{"name: v", "name: w"}}));
  for (const auto& other : {another_image, another_name}) {
    EXPECT_EQ(other->hash, first->hash);
    EXPECT_NE(other->content_hash, first->content_hash);
  }
  EXPECT_NE(another_name->content_hash, another_image->content_hash);
  EXPECT_EQ(load("# a comment\n" + scene)->content_hash, another_image->content_hash);
}

TEST_F(Visuals, ImagesOutsideTheFolderAreWarnedOfAndLeftOut) {
  folder_.Write("secret.png", PngBytes(2, 2));
  folder_.Write("jail/toys/look.mtl", "newmtl cloth\nmap_Kd ../../secret.png\n");
  const Loaded outside = Load(folder_, SceneWith("file: toys/cloth.obj, scale: 0.5"));
  ASSERT_TRUE(outside.result.ok()) << outside.said;
  EXPECT_THAT(outside.said, HasSubstr("is outside the scene's folder"));
  EXPECT_EQ(outside.result.model->bodies[0].embedded.parts.at(0).appearance, nullptr);

  folder_.Write("jail/toys/look.mtl", "newmtl cloth\nmap_Kd link.png\n");
  std::filesystem::create_symlink(folder_.path() + "/secret.png",
                                  folder_.path() + "/jail/toys/link.png");
  const Loaded linked = Load(folder_, SceneWith("file: toys/cloth.obj, scale: 0.5"));
  ASSERT_TRUE(linked.result.ok()) << linked.said;
  EXPECT_THAT(linked.said, HasSubstr("is outside the scene's folder"));
}

TEST_F(Visuals, MistakesAreNamedWithTheirPlaceAndAMend) {
  EXPECT_THAT(Load(folder_, SceneWith("file: gone.obj")).said,
              HasSubstr("bodies[0].deformable.visual.file: "));
  EXPECT_THAT(Load(folder_, SceneWith("file: toys/cloth.obj, scale: -1")).said,
              HasSubstr("bodies[0].deformable.visual.scale: -1"));
  EXPECT_THAT(Load(folder_, SceneWith("scale: 1")).said,
              HasSubstr("bodies[0].deformable.visual.file: "));
  // a visual in millimetres on a body in metres
  const Loaded far = Load(folder_, SceneWith("file: toys/cloth.obj, scale: 1000"));
  ASSERT_TRUE(far.result.ok()) << far.said;
  EXPECT_THAT(far.said,
              HasSubstr("beyond the body, which is 0.2 m long. Are its pose and its scale"));
}

TEST_F(Visuals, ImagesBeyondWhatViewersHoldAreLeftOut) {
  // two of 8192² pixels are the limit
  std::string text = "mtllib look.mtl\nv 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nvt 0 0\n", mtl;
  for (const char* name : {"a", "b", "c"}) {
    absl::StrAppend(&text, "usemtl ", name, "\nf 1/1 2/1 3/1\n");
    absl::StrAppend(&mtl, "newmtl ", name, "\nmap_Kd ", name, ".png\n");
    folder_.Write(absl::StrCat("jail/toys/", name, ".png"), PngBytes(8192, 8192) + name);
  }
  folder_.Write("jail/toys/large.obj", text);
  folder_.Write("jail/toys/look.mtl", mtl);
  const Loaded loaded = Load(folder_, SceneWith("file: toys/large.obj"));
  ASSERT_TRUE(loaded.result.ok()) << loaded.said;
  EXPECT_THAT(loaded.said, HasSubstr("201326592 pixels of textures; expected at most 134217728. "
                                     "1 images are not shown"));
  const auto& parts = loaded.result.model->bodies[0].embedded.parts;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_NE(parts[1].appearance->image, nullptr);
  EXPECT_EQ(parts[2].appearance->image, nullptr);
}

}  // namespace
}  // namespace pliant::physics
