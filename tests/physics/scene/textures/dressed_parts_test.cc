#include "physics/scene/textures/dressed_parts.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/physics/scene/textures/image_bytes.h"

namespace pliant::physics {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Dressed {
  std::vector<DressedPart> parts;
  std::vector<std::string> warnings;
};

// Reads a surface with its companion files, given by name.
Dressed Read(const std::string& bytes, const std::string& name,
             const std::map<std::string, std::string>& files) {
  const CompanionFiles read = [&](const std::string& file) -> absl::StatusOr<std::string> {
    const auto found = files.find(file);
    if (found != files.end()) return found->second;
    return absl::NotFoundError(absl::StrCat(file, ": no such file"));
  };
  Dressed dressed;
  const auto surface = ReadVisualSurface(bytes, name, read);
  EXPECT_TRUE(surface.ok()) << surface.status();
  if (surface.ok()) dressed.parts = DressParts(*surface, name, read, &dressed.warnings);
  return dressed;
}

// A square of two triangles, and one triangle above it of another material.
constexpr char kObj[] =
    "mtllib a b.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\n"
    "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl wood\nf 1/1 2/2 3/3\nf 1/1 3/3 4/-1\n"
    "usemtl red\nf 1 2 5\n";
constexpr char kMtl[] =
    "newmtl wood\nKd 0.1 0.1 0.1\nmap_Kd -s 1 1 -clamp on textures\\wood floor.png\n"
    "newmtl red\nKd 1 0 0\nd 0.5\n";

TEST(DressedParts, ObjHasTheColoursAndTexturesOfItsMaterials) {
  const Dressed made =
      Read(kObj, "a.obj", {{"a b.mtl", kMtl}, {"textures/wood floor.png", PngBytes(8, 4)}});
  EXPECT_THAT(made.warnings, IsEmpty());
  ASSERT_EQ(made.parts.size(), 2u);
  const DressedPart& wood = made.parts[0];
  EXPECT_EQ(wood.mesh->vertices.size(), 4u);
  EXPECT_EQ(wood.mesh->triangles.size(), 2u);
  // the image stands in place of the colour
  EXPECT_EQ(wood.color, Eigen::Vector4d(1, 1, 1, 1));
  ASSERT_NE(wood.appearance, nullptr);
  ASSERT_NE(wood.appearance->image, nullptr);
  EXPECT_EQ(wood.appearance->image->width, 8);
  for (std::size_t v = 0; v < 4; ++v) {
    const auto [u, w] = wood.appearance->texture_coordinates[v];
    EXPECT_EQ(Eigen::Vector3d(u, w, 0), wood.mesh->vertices[v]);
  }
  EXPECT_EQ(made.parts[1].color, Eigen::Vector4d(1, 0, 0, 0.5));
  EXPECT_EQ(made.parts[1].appearance, nullptr);
}

TEST(DressedParts, VerticesOnATextureSeamStayApart) {
  // the first vertex has two places in the image
  const std::string seam =
      "mtllib m\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\nvt 0.5 0.5\nusemtl wood\n"
      "f 1/1 2/2 3/2\nf 1/3 3/2 4/2\n";
  const Dressed made = Read(seam, "a.obj", {{"m", kMtl}, {"wood floor.png", PngBytes(8, 4)}});
  ASSERT_EQ(made.parts.size(), 1u);
  EXPECT_EQ(made.parts[0].mesh->vertices.size(), 5u);
  EXPECT_EQ(made.parts[0].appearance->texture_coordinates.size(), 5u);
}

TEST(DressedParts, ColoursOfObjVerticesAreShown) {
  const Dressed made =
      Read("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 0.5\nf 1 2 3\n", "a.obj", {});
  ASSERT_EQ(made.parts.size(), 1u);
  ASSERT_NE(made.parts[0].appearance, nullptr);
  using Rgba = std::array<std::uint8_t, 4>;
  EXPECT_THAT(made.parts[0].appearance->vertex_colors,
              ElementsAre(Rgba{255, 0, 0, 255}, Rgba{0, 255, 0, 255}, Rgba{0, 0, 128, 255}));
}

TEST(DressedParts, WhatCannotBeShownIsLeftOutWithItsNameAndAMend) {
  const Dressed lost = Read(kObj, "a.obj", {{"a b.mtl", kMtl}});
  ASSERT_EQ(lost.parts.size(), 2u);
  EXPECT_EQ(lost.parts[0].appearance, nullptr);
  EXPECT_THAT(lost.warnings,
              ElementsAre(testing::AllOf(
                  HasSubstr("a.obj: texture \"textures\\\\wood floor.png\" is not shown"),
                  HasSubstr("no such file. Put it there"))));
  const auto with = [](const std::string& image) {
    return Read(kObj, "a.obj", {{"a b.mtl", kMtl}, {"textures/wood floor.png", image}}).warnings;
  };
  EXPECT_THAT(with("a text file"), ElementsAre(HasSubstr("expected PNG or JPEG")));
  EXPECT_THAT(with(PngBytes(100'000, 100'000)), ElementsAre(HasSubstr("100000 x 100000")));
  EXPECT_THAT(with(PngBytes(8, 4).substr(0, 30)), ElementsAre(HasSubstr("is cut off")));
  // without its materials it is of one colour
  const Dressed bare = Read(kObj, "a.obj", {});
  ASSERT_EQ(bare.parts.size(), 1u);
  EXPECT_EQ(bare.parts[0].mesh->triangles.size(), 3u);
}

TEST(DressedParts, ImagesAreFoundBesideTheSurfaceWhereverTheirPathLeads) {
  for (const char* path : {"C:\\models\\x.png", "/home/me/x.png", "../../x.png", "sub/x.png"}) {
    const std::string mtl = absl::StrCat("newmtl wood\nmap_Kd ", path, "\n");
    const Dressed made = Read(kObj, "a.obj", {{"a b.mtl", mtl}, {"x.png", PngBytes(2, 2)}});
    EXPECT_THAT(made.warnings, IsEmpty()) << path;
    ASSERT_NE(made.parts[0].appearance, nullptr) << path;
  }
}

// A triangle as glTF, its red half, with an image that is named or embedded. `texture` adds to the
// material's use of the image.
std::string Gltf(const std::string& image, const std::string& texture = "") {
  std::string buffer;
  const auto append = [&](const auto& values) {
    buffer.append(reinterpret_cast<const char*>(&values), sizeof(values));
  };
  const float points[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  const float uvs[6] = {0, 0, 1, 0, 0, 0.25f};
  const float colors[12] = {0.5f, 1, 0, 1, 0.5f, 1, 0, 1, 0.5f, 1, 0, 1};
  append(points);
  append(uvs);
  append(colors);
  return absl::StrCat(
      R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
      "meshes":[{"primitives":[{"material":0,
        "attributes":{"POSITION":0,"TEXCOORD_0":1,"COLOR_0":2}}]}],
      "materials":[{"pbrMetallicRoughness":{"baseColorFactor":[1,0.5,1,1],
        "baseColorTexture":{"index":0)",
      texture, R"(}}}],"extensionsUsed":["KHR_texture_transform"],
      "textures":[{"source":0}],"images":[{"uri":")",
      image, R"("}],"buffers":[{"byteLength":108,"uri":"data:application/octet-stream;base64,)",
      absl::Base64Escape(buffer), R"("}],"bufferViews":[{"buffer":0,"byteLength":36},
      {"buffer":0,"byteOffset":36,"byteLength":24},{"buffer":0,"byteOffset":60,"byteLength":48}],
      "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3",
        "min":[0,0,0],"max":[1,1,0]},
      {"bufferView":1,"componentType":5126,"count":3,"type":"VEC2"},
      {"bufferView":2,"componentType":5126,"count":3,"type":"VEC4"}]})");
}

TEST(DressedParts, GltfHasItsImageTextureCoordinatesAndColours) {
  const std::string data =
      absl::StrCat("data:image/png;base64,", absl::Base64Escape(PngBytes(16, 16)));
  for (const std::string& image : {std::string("wood%20floor.png"), data}) {
    const Dressed made = Read(Gltf(image), "a.gltf", {{"wood floor.png", PngBytes(16, 16)}});
    EXPECT_THAT(made.warnings, IsEmpty()) << image;
    ASSERT_EQ(made.parts.size(), 1u);
    EXPECT_LT((*made.parts[0].color - Eigen::Vector4d(1, 0.5, 1, 1)).norm(), 1e-6);
    ASSERT_NE(made.parts[0].appearance, nullptr);
    const Appearance& appearance = *made.parts[0].appearance;
    ASSERT_NE(appearance.image, nullptr) << image;
    EXPECT_EQ(appearance.image->bytes, PngBytes(16, 16));
    // the origin of glTF is the upper left corner
    using Uv = std::array<float, 2>;
    EXPECT_THAT(appearance.texture_coordinates, ElementsAre(Uv{0, 1}, Uv{1, 1}, Uv{0, 0.75f}));
    // half of linear light is 188 of 255 as sRGB
    using Rgba = std::array<std::uint8_t, 4>;
    EXPECT_THAT(appearance.vertex_colors, Contains(Rgba{188, 255, 0, 255}).Times(3));
  }
}

TEST(DressedParts, TextureTransformsOfGltfMoveTheCoordinates) {
  const double given[3][2] = {{0, 0}, {1, 0}, {0, 0.25}};
  for (const double angle : {0.0, 0.5}) {
    SCOPED_TRACE(angle);
    const std::string transform =
        absl::StrCat(R"(,"extensions":{"KHR_texture_transform":)",
                     R"({"offset":[0.125,0.25],"scale":[0.5,2],"rotation":)", angle, "}}");
    const Dressed made =
        Read(Gltf("wood.png", transform), "a.gltf", {{"wood.png", PngBytes(16, 16)}});
    EXPECT_THAT(made.warnings, IsEmpty());
    ASSERT_EQ(made.parts.size(), 1u);
    ASSERT_NE(made.parts[0].appearance, nullptr);
    const auto& found = made.parts[0].appearance->texture_coordinates;
    ASSERT_EQ(found.size(), 3u);
    // offset + R(rotation) · scale · (u, v), from the upper left corner; rounding of float
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t i = 0; i < 3; ++i) {
      const double u = 0.5 * given[i][0], v = 2 * given[i][1];
      EXPECT_NEAR(found[i][0], 0.125 + c * u + s * v, 1e-6) << i;
      EXPECT_NEAR(found[i][1], 1 - (0.25 - s * u + c * v), 1e-6) << i;
    }
  }
}

TEST(DressedParts, PlyHasTheColoursOfItsVertices) {
  const std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
      "property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
      "0 0 0 10 20 30\n1 0 0 10 20 30\n0 1 0 10 20 30\n3 0 1 2\n";
  const Dressed made = Read(ply, "a.ply", {});
  ASSERT_EQ(made.parts.size(), 1u);
  ASSERT_NE(made.parts[0].appearance, nullptr);
  using Rgba = std::array<std::uint8_t, 4>;
  EXPECT_THAT(made.parts[0].appearance->vertex_colors, Contains(Rgba{10, 20, 30, 255}).Times(3));
  EXPECT_EQ(made.parts[0].color, Eigen::Vector4d(1, 1, 1, 1));
}

}  // namespace
}  // namespace pliant::physics
