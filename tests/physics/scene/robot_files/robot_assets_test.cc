#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/robot_description.h"
#include "tests/assets.h"

// Tests on robots and meshes of other projects, which are not part of this repository: everything
// in the folder that PLIANT_ASSETS names, or beside the sources. Each must load, or be rejected
// with a message that says why.

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

std::string LowerExtension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

std::vector<fs::path> FindFiles(const std::string& folder, const std::set<std::string>& kinds) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && kinds.contains(LowerExtension(entry.path())))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class RobotAssets : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = FindAssets();
    if (!fs::exists(folder_))
      GTEST_SKIP() << "no robots to read: " << folder_ << " is not there; set PLIANT_ASSETS";
  }

  std::string NameOf(const fs::path& path) const { return fs::relative(path, folder_).string(); }

  std::string folder_;
};

int CountFreedoms(const RobotDescription& robot) {
  int count = 0;
  for (const RobotLink& link : robot.links) count += CountVelocities(link.joint.type);
  return count;
}

// Files that cannot load: no robots, robots whose collision meshes are not among the files, and
// those that are malformed to test other readers.
bool MayBeRefused(const std::string& name, const RobotFileResult& result) {
  if (name.find("malformed_") != std::string::npos) return true;
  for (const RobotFileMessage& message : result.messages) {
    if (!message.error) continue;
    if (message.text.find("its first element is <") == std::string::npos &&
        message.text.find("no such file") == std::string::npos)
      return false;
  }
  return true;
}

TEST_F(RobotAssets, EachRobotLoadsOrSaysWhyNot) {
  const bool verbose = std::getenv("PLIANT_VERBOSE") != nullptr;
  int loaded = 0, refused = 0;
  for (const fs::path& path : FindFiles(folder_, {".urdf", ".sdf", ".xml"})) {
    RobotFileOptions options;
    options.jail = folder_;
    const auto start = std::chrono::steady_clock::now();
    const RobotFileResult result = ReadRobotFile(path.string(), options);
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    int errors = 0, warnings = 0;
    for (const RobotFileMessage& message : result.messages) {
      EXPECT_FALSE(message.text.empty()) << path;
      EXPECT_FALSE(message.file.empty()) << path;
      ++(message.error ? errors : warnings);
    }
    EXPECT_EQ(result.robot.has_value(), errors == 0) << path;
    if (result.robot.has_value()) {
      ++loaded;
      int joints = 0;
      for (const RobotLink& link : result.robot->links)
        joints += CountVelocities(link.joint.type) > 0;
      std::printf(
          "%-75s %4s  %3zu links %3d joints %3d dofs %zu deformables %2d warnings %5.2f s\n",
          NameOf(path).c_str(), result.robot->format.c_str(), result.robot->links.size(), joints,
          CountFreedoms(*result.robot), result.robot->deformables.size(), warnings, took);
    } else {
      ++refused;
      std::printf("%-75s refused\n", NameOf(path).c_str());
      EXPECT_TRUE(MayBeRefused(NameOf(path), result)) << path;
    }
    for (const RobotFileMessage& message : result.messages) {
      if (verbose || message.error)
        std::printf("    %s line %d: %s\n", message.error ? "error" : "warning", message.line,
                    message.text.c_str());
    }
  }
  std::printf("%d robots load, %d are refused\n", loaded, refused);
  EXPECT_GT(loaded, 0);
}

TEST_F(RobotAssets, EachMeshLoadsOrSaysWhyNot) {
  int loaded = 0, refused = 0;
  for (const fs::path& path :
       FindFiles(folder_, {".obj", ".stl", ".gltf", ".glb", ".ply", ".vtk", ".msh", ".vtu"})) {
    const auto bytes = ReadMeshFileBytes(path.string());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const std::string name = NameOf(path);
    const CompanionFiles beside = [&](const std::string& other) {
      return ReadMeshFileBytes((path.parent_path() / other).string());
    };
    const auto volume = ReadVolumeMesh(*bytes, name);
    const auto surface = ReadVisualSurface(*bytes, name, beside);
    if (volume.ok()) {
      ++loaded;
      std::printf("%-75s %zu tetrahedra\n", name.c_str(), volume->mesh.tetrahedra.size());
    } else if (surface.ok()) {
      ++loaded;
      const auto closed = CloseSurfaceMesh(*surface, name);
      std::printf(
          "%-75s %zu triangles%s\n", name.c_str(), surface->mesh.triangles.size(),
          closed.ok() ? ", closed" : (", open: " + std::string(closed.status().message())).c_str());
    } else {
      ++refused;
      const std::string extension = LowerExtension(path);
      const bool solid = extension == ".vtk" || extension == ".msh" || extension == ".vtu";
      const std::string why((solid ? volume.status() : surface.status()).message());
      EXPECT_TRUE(why.find(name) != std::string::npos) << why;
      std::printf("%-75s refused\n    %s\n", name.c_str(), why.c_str());
    }
  }
  std::printf("%d meshes load, %d are refused\n", loaded, refused);
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace pliant::physics
