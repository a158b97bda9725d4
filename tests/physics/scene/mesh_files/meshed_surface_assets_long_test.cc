// Surfaces of other projects, which are not part of this repository, filled with tetrahedra: those
// in PLIANT_ASSETS or beside the sources.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "physics/scene/mesh_files/meshed_surface_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/spatial/trig.h"
#include "tests/assets.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

TEST(MeshedSurfaceAssets, AreFilledWithSoundTetrahedraOrRefusedWithAReason) {
  const fs::path folder = FindAssets();
  if (!fs::exists(folder))
    GTEST_SKIP() << "no surfaces to fill: " << folder << " is not there; set PLIANT_ASSETS";
  std::vector<fs::path> files;
  for (const char* part : {"trimesh", "mujoco/model/flex/asset", "sofa_lgpl"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / part, error))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  int filled = 0;
  for (const fs::path& file : files) {
    const auto bytes = ReadMeshFileBytes(file.string());
    if (!bytes.ok() || !IsSurfaceFile(*bytes, file.string())) continue;
    SurfaceFileMeshing options;
    options.max_length = 1e9;
    const auto made = MeshSurfaceFile(*bytes, file.string(), nullptr, options, MeshCache(""));
    if (!made.ok()) {
      // a file that cannot be read, a surface without an inside, or a body thinner than an edge
      EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << made.status();
      continue;
    }
    ++filled;
    for (const MeshDefect& defect : FindDefects(made->mesh))
      EXPECT_TRUE(defect.harmless()) << file << ": " << Describe(defect);
    double least = kPi;
    const auto& x = made->mesh.vertices;
    for (const auto& t : made->mesh.tetrahedra)
      least = std::min(least, CalcMinDihedral(x[t[0]], x[t[1]], x[t[2]], x[t[3]]));
    EXPECT_GE(least, 10 * kPi / 180) << file << ": " << least * 180 / kPi << "°";
  }
  EXPECT_GT(filled, 15);
}

}  // namespace
}  // namespace pliant::physics
