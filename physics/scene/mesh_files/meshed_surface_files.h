#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "physics/scene/mesh_files/mesh_cache.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// Changed whenever the same surface gives another mesh, so that caches and model hashes distinguish
// old and new meshes.
inline constexpr char kMesherVersion[] = "mesher 5";

// Whether the bytes begin like a surface; if they are unknown, whether the file is named like one.
bool IsSurfaceFile(std::string_view bytes, const std::string& name);

struct SurfaceFileMeshing {
  double scale = 1;         // of the file's lengths
  SurfaceMeshing meshing;   // edge_length 0: kDefaultEdges along the longest extent
  double max_length = 1e6;  // vertices may not be farther from the origin [m]
};
inline constexpr double kDefaultEdges = 20;

struct MeshedSurfaceFile {
  TetrahedralMesh mesh;
  std::vector<std::string> warnings;  // as MeshedSurface has them, or with the file's name
};

// Fills the surface of a file with tetrahedra, or takes the mesh from the cache. Other files are
// read only through `companions`.
//
// errors  INVALID_ARGUMENT, CANCELLED: as ReadOpenSurfaceMesh and MeshSurface
absl::StatusOr<MeshedSurfaceFile> MeshSurfaceFile(std::string_view bytes, const std::string& name,
                                                  const CompanionFiles& companions,
                                                  const SurfaceFileMeshing& options,
                                                  const MeshCache& cache);

}  // namespace pliant::physics
