// Deformable bodies that are given as surfaces.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/mesh_files/mesh_cache.h"
#include "physics/scene/scene.h"
#include "tests/physics/scene/scene_text.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Corners (±1, ±1, ±1) and the twelve triangles of a cube, seen from outside anticlockwise.
constexpr int kCubeTriangles[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
                                       {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
                                       {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};

float CornerOf(int vertex, int axis, float half) {
  return vertex >> axis & 1 ? half : -half;
}

std::string StlCube(float half, int triangles = 12) {
  std::string bytes(80, ' ');
  const auto append = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(static_cast<std::uint32_t>(triangles));
  for (int t = 0; t < triangles; ++t) {
    for (int k = 0; k < 3; ++k) append(0.0f);
    for (const int v : kCubeTriangles[t])
      for (int axis = 0; axis < 3; ++axis) append(CornerOf(v, axis, half));
    append(std::uint16_t{0});
  }
  return bytes;
}

std::string ObjCube(float half) {
  std::string text;
  for (int v = 0; v < 8; ++v)
    absl::StrAppend(&text, "v ", CornerOf(v, 0, half), " ", CornerOf(v, 1, half), " ",
                    CornerOf(v, 2, half), "\n");
  for (const auto& t : kCubeTriangles)
    absl::StrAppend(&text, "f ", t[0] + 1, " ", t[1] + 1, " ", t[2] + 1, "\n");
  return text;
}

std::string PlyCube(float half) {
  std::string text =
      "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float "
      "z\nelement face 12\nproperty list uchar int vertex_indices\nend_header\n";
  for (int v = 0; v < 8; ++v)
    absl::StrAppend(&text, CornerOf(v, 0, half), " ", CornerOf(v, 1, half), " ",
                    CornerOf(v, 2, half), "\n");
  for (const auto& t : kCubeTriangles)
    absl::StrAppend(&text, "3 ", t[0], " ", t[1], " ", t[2], "\n");
  return text;
}

// A cube as COLLADA, in centimetres as its unit element declares.
std::string ColladaCube(float half) {
  std::string positions, corners;
  for (int v = 0; v < 8; ++v)
    for (int axis = 0; axis < 3; ++axis)
      absl::StrAppend(&positions, 100 * CornerOf(v, axis, half), " ");
  for (const auto& t : kCubeTriangles) absl::StrAppend(&corners, t[0], " ", t[1], " ", t[2], " ");
  return absl::StrCat(
      "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
      "version=\"1.4.1\"><asset><unit meter=\"0.01\" name=\"centimeter\"/><up_axis>Z_UP</up_axis>"
      "</asset><library_geometries><geometry id=\"g\"><mesh><source id=\"p\"><float_array id=\"a\" "
      "count=\"24\">",
      positions,
      "</float_array><technique_common><accessor source=\"#a\" count=\"8\" stride=\"3\"><param "
      "name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/><param name=\"Z\" "
      "type=\"float\"/></accessor></technique_common></source><vertices id=\"v\"><input "
      "semantic=\"POSITION\" source=\"#p\"/></vertices><triangles count=\"12\"><input "
      "semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>",
      corners,
      "</p></triangles></mesh></geometry></library_geometries><library_visual_scenes><visual_scene "
      "id=\"s\"><node><instance_geometry url=\"#g\"/></node></visual_scene></library_visual_scenes>"
      "<scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>");
}

// The vertices and corners of a cube, as the buffer of a glTF file has them.
std::string GltfBuffer(float half) {
  std::string bytes;
  const auto append = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (int v = 0; v < 8; ++v)
    for (int axis = 0; axis < 3; ++axis) append(CornerOf(v, axis, half));
  for (const auto& t : kCubeTriangles)
    for (const int v : t) append(static_cast<std::uint16_t>(v));
  return bytes;
}

// A cube as glTF, with its buffer in the text or at `uri`.
std::string GltfCube(float half, const std::string& uri = "") {
  return absl::StrCat(R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3",
        "min": [-1, -1, -1], "max": [1, 1, 1]},
      {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"}],
    "bufferViews": [{"buffer": 0, "byteLength": 96},
      {"buffer": 0, "byteOffset": 96, "byteLength": 72}],
    "buffers": [{"uri": ")",
                      !uri.empty() ? uri
                                   : absl::StrCat("data:application/octet-stream;base64,",
                                                  absl::Base64Escape(GltfBuffer(half))),
                      "\", \"byteLength\": 168}]}");
}

class SurfaceBodies : public testing::Test {
 protected:
  SurfaceBodies() {
    std::string pattern = testing::TempDir() + "pliant-surfaces-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    options_.jail = folder_;
    options_.mesh_cache = folder_ + "/cache";
  }
  ~SurfaceBodies() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }
  // A scene of one soft body; `mesh` completes its mesh.
  SceneResult Load(const std::string& mesh) const {
    return LoadSceneYaml(
        "bodies:\n- name: soft\n  deformable:\n    mesh: {" + mesh +
            "}\n    material: {youngs_modulus: 1e5, poissons_ratio: 0.4, density: 1000}\n",
        "s.yaml", options_);
  }
  std::string MessagesOf(const std::string& mesh) const { return Messages(Load(mesh)); }

  std::vector<fs::path> Kept() const {
    std::vector<fs::path> kept;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.mesh_cache, error))
      kept.push_back(entry.path());
    return kept;
  }

  std::string folder_;
  SceneOptions options_;
};

TEST_F(SurfaceBodies, AreFilledFromEveryFormat) {
  Write("cube.stl", StlCube(0.05f));
  Write("cube.obj", ObjCube(0.05f));
  Write("cube.ply", PlyCube(0.05f));
  Write("cube.dae", ColladaCube(0.05f));
  Write("cube.gltf", GltfCube(0.05f));
  for (const char* file : {"cube.stl", "cube.obj", "cube.ply", "cube.dae", "cube.gltf"}) {
    const SceneResult result = Load(absl::StrCat("file: ", file, ", edge_length: 0.025"));
    ASSERT_TRUE(result.ok()) << file << Messages(result);
    EXPECT_THAT(Messages(result), IsEmpty()) << file;
    const TetrahedralMesh& mesh = result.model->bodies[0].mesh;
    EXPECT_GT(mesh.tetrahedra.size(), 100u);
    // a box keeps its edges, so its volume is exact but for rounding in single precision
    EXPECT_NEAR(CalcVolume(mesh), 1e-3, 1e-6) << file;
  }
}

// Area and bounds of the surface of a mesh.
struct SurfaceSize {
  double area = 0;
  Eigen::Vector3d lower = Eigen::Vector3d::Constant(1), upper = -lower;
};

SurfaceSize MeasureSurface(const TetrahedralMesh& mesh) {
  SurfaceSize size;
  for (const auto& t : ExtractBoundary(mesh).triangles) {
    const Eigen::Vector3d &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]],
                          &c = mesh.vertices[t[2]];
    size.area += 0.5 * (b - a).cross(c - a).norm();
    size.lower = size.lower.cwiseMin(a).cwiseMin(b).cwiseMin(c);
    size.upper = size.upper.cwiseMax(a).cwiseMax(b).cwiseMax(c);
  }
  return size;
}

TEST_F(SurfaceBodies, OfGltfAndColladaHaveTheFilesSurfaceAndStandOnTheFloor) {
  Write("cube.dae", ColladaCube(0.05f));
  Write("cube.gltf", GltfCube(0.05f));
  for (const char* file : {"cube.gltf", "cube.dae"}) {
    SCOPED_TRACE(file);
    const SceneResult result = LoadSceneYaml(
        absl::StrCat(
            "bodies:\n- {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n"
            "- name: soft\n  deformable:\n    mesh: {file: ",
            file,
            ", edge_length: 0.025}\n    pose: {position: [0, 0, 0.05]}\n"
            "    material: {youngs_modulus: 1e5, poissons_ratio: 0.4, density: 1000}\n"
            "probes:\n- {name: volume, volume: {body: soft}}\n"
            "- {name: centre, position: {body: soft}}\n"),
        "s.yaml", options_);
    ASSERT_TRUE(result.ok()) << Messages(result);
    const Body& body = result.model->bodies[1];
    // rounding in single precision
    const SurfaceSize size = MeasureSurface(body.mesh);
    EXPECT_NEAR(size.area, 0.06, 1e-6);
    EXPECT_LT((size.upper - size.lower - Eigen::Vector3d::Constant(0.1)).norm(), 1e-7);

    World world(result.model);
    RunUntil(0.5, &world);
    // its weight compresses it by (1 − 2ν) ρ g h / 2 E = 1e-3 in volume, and by 5e-3 in height
    EXPECT_NEAR(Read(world, "volume")[0], 1e-3, 3e-6);
    EXPECT_NEAR(Read(world, "centre")[2], 0.05, 5e-4);
  }
}

TEST_F(SurfaceBodies, HaveATwentiethOfTheirLengthAsDefaultEdge) {
  Write("cube.stl", StlCube(0.05f));
  const SceneResult by_default = Load("file: cube.stl"),
                    by_length = Load("file: cube.stl, edge_length: 0.005");
  ASSERT_TRUE(by_default.ok()) << Messages(by_default);
  ASSERT_TRUE(by_length.ok()) << Messages(by_length);
  const std::size_t expected = by_length.model->bodies[0].mesh.tetrahedra.size();
  // equal but for the length of the single-precision cube
  EXPECT_NEAR(by_default.model->bodies[0].mesh.tetrahedra.size(), expected, 0.01 * expected);
}

TEST_F(SurfaceBodies, InMillimetresGetAWarningWithTheScale) {
  Write("cube.stl", StlCube(50));
  EXPECT_THAT(MessagesOf("file: cube.stl, edge_length: 25"), HasSubstr("give scale: 0.001"));
  EXPECT_THAT(MessagesOf("file: cube.stl, edge_length: 0.01"), HasSubstr("give scale: 0.001"));
  EXPECT_THAT(MessagesOf("file: cube.stl, scale: 0.001, edge_length: 0.025"), IsEmpty());
  EXPECT_THAT(MessagesOf("file: cube.stl, scale: 0.000001, edge_length: 0.00005"),
              HasSubstr("give scale: 0.001"));
}

TEST_F(SurfaceBodies, ThatAreOpenAreClosedWithAWarning) {
  Write("open.stl", StlCube(0.05f, 11));
  const SceneResult result = Load("file: open.stl, edge_length: 0.025");
  ASSERT_TRUE(result.ok()) << Messages(result);
  EXPECT_THAT(Messages(result), HasSubstr("closed by winding number"));
}

TEST_F(SurfaceBodies, ThatCannotBeReadOrFilledAreErrors) {
  Write("empty.stl", "");
  Write("text.stl", "This is a letter.\n");
  Write("cut.stl", StlCube(0.05f).substr(0, 500));
  Write("flat.stl", StlCube(0.05f, 2));
  Write("nan.obj", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  Write("cube.stl", StlCube(0.05f));
  EXPECT_THAT(MessagesOf("file: empty.stl"), HasSubstr("the file is empty"));
  EXPECT_THAT(MessagesOf("file: text.stl"), HasSubstr("may be cut off"));
  EXPECT_THAT(MessagesOf("file: cut.stl"), HasSubstr("may be cut off"));
  EXPECT_THAT(MessagesOf("file: flat.stl"), HasSubstr("encloses nothing"));
  EXPECT_THAT(MessagesOf("file: nan.obj"), HasSubstr("nan.obj:1"));
  EXPECT_THAT(MessagesOf("file: cube.stl, edge_length: 0.0002"), HasSubstr("Use a longer edge"));
  for (const char* file : {"empty.stl", "text.stl", "cut.stl", "flat.stl", "nan.obj"})
    EXPECT_FALSE(Load(absl::StrCat("file: ", file)).ok()) << file;
}

TEST_F(SurfaceBodies, FieldsOfSurfacesApplyToSurfacesOnly) {
  Write("one.vtk",
        "# vtk DataFile Version 3.0\none\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n"
        "0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n");
  EXPECT_THAT(MessagesOf("file: one.vtk"), IsEmpty());
  EXPECT_THAT(MessagesOf("file: one.vtk, edge_length: 0.1"),
              HasSubstr("mesh.edge_length: applies to primitives and surfaces only"));
  EXPECT_THAT(MessagesOf("file: one.vtk, refine: true"), HasSubstr("mesh.refine: applies to"));
  EXPECT_THAT(MessagesOf("sphere: {radius: 1}, refine: true"),
              HasSubstr("mesh.refine: applies to files of surfaces only"));
  EXPECT_THAT(MessagesOf("sphere: {radius: 1}, sharp_angle: 30"),
              HasSubstr("mesh.sharp_angle: applies to files of surfaces only"));
  Write("cube.stl", StlCube(0.05f));
  EXPECT_THAT(MessagesOf("file: cube.stl, sharp_angle: 200"), HasSubstr("sharp_angle: 200"));
}

TEST_F(SurfaceBodies, AreKeptInTheCache) {
  Write("cube.stl", StlCube(0.05f));
  const std::string mesh = "file: cube.stl, edge_length: 0.025";
  const SceneResult first = Load(mesh);
  ASSERT_TRUE(first.ok()) << Messages(first);
  ASSERT_EQ(Kept().size(), 1u);
  const fs::path kept = Kept()[0];

  const auto expect_same = [&](const SceneResult& again) {
    ASSERT_TRUE(again.ok()) << Messages(again);
    EXPECT_EQ(again.model->hash, first.model->hash);
    EXPECT_TRUE(again.model->bodies[0].mesh.vertices == first.model->bodies[0].mesh.vertices);
    EXPECT_EQ(again.model->bodies[0].mesh.tetrahedra, first.model->bodies[0].mesh.tetrahedra);
  };
  expect_same(Load(mesh));

  // a file of the cache is really used: one with another mesh gives that one
  const MeshCache cache(options_.mesh_cache);
  MeshedSurface other = *cache.Find(kept.stem());
  other.mesh.vertices[0] *= 1.001;
  cache.Keep(kept.stem(), other);
  const SceneResult changed = Load(mesh);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(changed.model->bodies[0].mesh.vertices == first.model->bodies[0].mesh.vertices);

  // a damaged one is not
  std::fstream file(kept, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.put('?');
  file.close();
  expect_same(Load(mesh));
  fs::resize_file(kept, 100);
  expect_same(Load(mesh));

  // other fields give another mesh
  ASSERT_TRUE(Load("file: cube.stl, edge_length: 0.03").ok());
  EXPECT_EQ(Kept().size(), 2u);
}

TEST_F(SurfaceBodies, OfGltfHaveTheirBuffersInFilesBesideThem) {
  Write("cube.gltf", GltfCube(0.05f, "cube%20buffer.bin"));
  Write("cube buffer.bin", GltfBuffer(0.05f));
  const std::string mesh = "file: cube.gltf, edge_length: 0.025";
  const std::string folder = folder_;
  for (const bool in_jail : {true, false}) {
    SCOPED_TRACE(in_jail);
    if (!in_jail) options_.jail = "";
    const SceneResult soft =
        Load(in_jail ? mesh : "file: " + folder + "/cube.gltf, edge_length: 0.025");
    ASSERT_TRUE(soft.ok()) << Messages(soft);
    EXPECT_NEAR(CalcVolume(soft.model->bodies[0].mesh), 1e-3, 1e-6);
  }
  options_.jail = folder_;
  // a rigid one, too
  const SceneResult rigid = LoadSceneYaml(
      "bodies: [{name: r, rigid: {motion: FREE, density: 1000, shapes: [{mesh: {file: "
      "cube.gltf}}]}}]",
      "s.yaml", options_);
  ASSERT_TRUE(rigid.ok()) << Messages(rigid);
  EXPECT_NEAR(rigid.model->bodies[0].mass, 1, 1e-6);
}

TEST_F(SurfaceBodies, OfGltfAreAnotherMeshWithAnotherBuffer) {
  Write("cube.gltf", GltfCube(0.05f, "cube.bin"));
  Write("cube.bin", GltfBuffer(0.05f));
  const std::string mesh = "file: cube.gltf, edge_length: 0.025";
  const SceneResult first = Load(mesh);
  ASSERT_TRUE(first.ok()) << Messages(first);
  ASSERT_EQ(Kept().size(), 1u);
  EXPECT_EQ(Load(mesh).model->hash, first.model->hash);
  EXPECT_EQ(Kept().size(), 1u);

  // scene file and glTF are unchanged
  Write("cube.bin", GltfBuffer(0.04f));
  const SceneResult second = Load(mesh);
  ASSERT_TRUE(second.ok()) << Messages(second);
  EXPECT_NE(second.model->hash, first.model->hash);
  EXPECT_NEAR(CalcVolume(second.model->bodies[0].mesh), 0.512e-3, 1e-6);
}

TEST_F(SurfaceBodies, OfGltfWithoutTheirBufferAreRefusedByName) {
  Write("cube.gltf", GltfCube(0.05f, "parts/cube.bin"));
  const std::string mesh = "file: cube.gltf, edge_length: 0.025";
  EXPECT_THAT(MessagesOf(mesh), HasSubstr("parts/cube.bin"));
  // a buffer beside the file serves too
  Write("cube.bin", GltfBuffer(0.05f));
  EXPECT_TRUE(Load(mesh).ok()) << MessagesOf(mesh);
  for (const char* outside : {"/etc/passwd", "../../../../../../etc/passwd"}) {
    Write("cube.gltf", GltfCube(0.05f, outside));
    EXPECT_THAT(MessagesOf(mesh), HasSubstr("not below the folder")) << outside;
  }
}

TEST_F(SurfaceBodies, AreFilledWithoutACache) {
  Write("cube.stl", StlCube(0.05f));
  options_.mesh_cache = "";
  EXPECT_TRUE(Load("file: cube.stl, edge_length: 0.025").ok());
  EXPECT_THAT(Kept(), IsEmpty());
  options_.mesh_cache = "/proc/no_such_folder";
  EXPECT_TRUE(Load("file: cube.stl, edge_length: 0.025").ok());
}

TEST_F(SurfaceBodies, TheCacheIsBounded) {
  MeshedSurface mesh;
  mesh.mesh.vertices.assign(1000, {1, 2, 3});
  const MeshCache cache(options_.mesh_cache, 60000);
  for (const char* key : {"aa", "bb", "cc"}) {
    cache.Keep(key, mesh);
    // files of the same instant would have no order
    fs::last_write_time(
        options_.mesh_cache + "/" + key + ".mesh",
        fs::file_time_type::clock::now() - std::chrono::seconds(100 - 10 * (key[0] - 'a')));
  }
  EXPECT_EQ(Kept().size(), 2u);
  EXPECT_FALSE(cache.Find("aa").has_value());
  ASSERT_TRUE(cache.Find("cc").has_value());
  EXPECT_TRUE(cache.Find("cc")->mesh.vertices == mesh.mesh.vertices);
  mesh.mesh.vertices.assign(5000, {1, 2, 3});  // more than all
  cache.Keep("dd", mesh);
  EXPECT_FALSE(cache.Find("dd").has_value());
}

}  // namespace
}  // namespace pliant::physics
