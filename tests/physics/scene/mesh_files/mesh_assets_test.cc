#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include <yaml-cpp/yaml.h>

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "tests/assets.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

// Tests on meshes of other projects, which are not part of this repository: a folder with
// manifest.json, an array `files` of {file, mesh: {verts, cells: {"10": tetrahedra}, volume,
// neg_tets, surf_tris}}, found through PLIANT_ASSETS or beside the sources.

namespace pliant::physics {
namespace {

bool IsAbout(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::abs(b);
}

class MeshAssets : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = FindAssets();
    if (!std::filesystem::exists(folder_ + "/manifest.json")) {
      GTEST_SKIP() << "no meshes to compare with: " << folder_
                   << "/manifest.json is not there; set PLIANT_ASSETS";
    }
    manifest_ = YAML::LoadFile(folder_ + "/manifest.json")["files"];
  }

  std::string folder_;
  YAML::Node manifest_;
};

TEST_F(MeshAssets, VolumeMeshesAgreeWithTheManifest) {
  int compared = 0;
  for (const YAML::Node& entry : manifest_) {
    const std::string name = entry["file"].as<std::string>();
    if (!name.ends_with(".vtk") && !name.ends_with(".msh")) continue;
    const auto bytes = ReadMeshFileBytes(folder_ + "/" + name);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto file = ReadVolumeMesh(*bytes, name);
    const YAML::Node expected = entry["mesh"];
    // binary files, and those that the manifest's own reader failed on, need only be read or
    // rejected without a crash; that reader also mistook an element list without a header for cells
    if (!expected || !expected["cells"]) continue;
    if (!expected["volume"]) {
      if (!expected["cells"]["vtk5"]) {
        EXPECT_FALSE(file.ok()) << name;
        ++compared;
      }
      continue;
    }
    ASSERT_TRUE(file.ok()) << file.status();
    const TetrahedralMesh& mesh = file->mesh;
    EXPECT_EQ(mesh.vertices.size(), expected["verts"].as<std::size_t>()) << name;
    const auto count = [&](const char* type) {
      return expected["cells"][type] ? expected["cells"][type].as<std::size_t>() : 0;
    };
    // six tetrahedra to a voxel or hexahedron, which the manifest's numbers leave out
    const std::size_t divided = 6 * (count("11") + count("12")) + 3 * count("13") + 2 * count("14");
    EXPECT_EQ(mesh.tetrahedra.size(), count("10") + divided) << name;
    if (divided > 0) {
      EXPECT_GT(CalcVolume(mesh), expected["volume"].as<double>()) << name;
      continue;
    }
    EXPECT_EQ(ExtractBoundary(mesh).triangles.size(), expected["surf_tris"].as<std::size_t>())
        << name;
    std::size_t inverted = 0;
    std::size_t unused = 0;
    for (const MeshDefect& defect : FindDefects(mesh)) {
      if (defect.kind == MeshDefectKind::kInverted) inverted = defect.ids.size();
      if (defect.kind == MeshDefectKind::kUnusedVertex) unused = defect.ids.size();
      EXPECT_NE(defect.kind, MeshDefectKind::kDegenerate) << name;
    }
    EXPECT_EQ(inverted, expected["neg_tets"].as<std::size_t>()) << name;
    EXPECT_EQ(unused, expected["unused"].as<std::size_t>()) << name;
    // the manifest's volume is the sum of positive or of all elements; both agree where none is
    // inverted
    if (inverted == 0) {
      EXPECT_TRUE(IsAbout(CalcVolume(mesh), expected["volume"].as<double>(), 1e-9))
          << name << ": " << CalcVolume(mesh);
    }
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST_F(MeshAssets, SurfaceMeshesAgreeWithTheManifest) {
  int compared = 0;
  for (const YAML::Node& entry : manifest_) {
    const std::string name = entry["file"].as<std::string>();
    std::string extension = std::filesystem::path(name).extension().string();
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (extension != ".stl" && extension != ".obj") continue;
    const auto bytes = ReadMeshFileBytes(folder_ + "/" + name);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto file = ReadSurfaceMesh(*bytes, name);
    const YAML::Node expected = entry["mesh"];
    if (!expected || !expected["merged"]) continue;
    const bool closed =
        expected["boundary_edges"].as<int>() == 0 && expected["nonmanifold_edges"].as<int>() == 0;
    EXPECT_EQ(file.ok(), closed) << name << ": " << file.status();
    if (file.ok() && closed) {
      EXPECT_EQ(file->mesh.vertices.size(), expected["merged"].as<std::size_t>()) << name;
      EXPECT_EQ(file->mesh.triangles.size(),
                expected["faces"].as<std::size_t>() - expected["degenerate"].as<std::size_t>())
          << name;
    }
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST_F(MeshAssets, SharpEdgesOfPartsStayWithinATenthOfAnEdge) {
  const struct {
    const char* file;
    double edge_length;
  } parts[] = {{"trimesh/fandisk.obj", 0.12},   {"trimesh/fandisk.obj", 0.1},
               {"trimesh/fandisk.obj", 0.09},   {"trimesh/fandisk.obj", 0.06},
               {"trimesh/plate_holes.STL", 12}, {"trimesh/plate_holes.STL", 10},
               {"trimesh/plate_holes.STL", 9},  {"trimesh/plate_holes.STL", 8},
               {"trimesh/plate_holes.STL", 5}};
  for (const auto& [name, edge] : parts) {
    SCOPED_TRACE(std::string(name) + ", edge length " + std::to_string(edge));
    const std::string path = folder_ + "/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const auto bytes = ReadMeshFileBytes(path);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto file = ReadOpenSurfaceMesh(*bytes, path);
    ASSERT_TRUE(file.ok()) << file.status();
    SurfaceMeshing options;
    options.edge_length = edge;
    const auto meshed = MeshSurface(file->mesh, options);
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    EXPECT_GE(meshed->min_dihedral, 10 * kPi / 180);
    EXPECT_NEAR(CalcVolume(meshed->mesh) / CalcEnclosedVolume(file->mesh), 1, 0.01);
    const TriangleMesh surface = SurfaceOf(meshed->mesh);
    EXPECT_LE(CalcHausdorffDistance(file->mesh, surface, edge / 4), edge / 4);
    EXPECT_LE(CalcSharpEdgeDistance(file->mesh, surface, options.sharp_angle, edge / 20).to_surface,
              edge / 10);
  }
}

}  // namespace
}  // namespace pliant::physics
