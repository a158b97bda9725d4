#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_log.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/textures/dressed_parts.h"

namespace pliant::physics {

// Representation of a collision mesh on a moving link.
enum class MeshUse {
  kAutomatic,      // its hull, or pieces when the hull is more than 10 % too large
  kHull,           // its hull, as the file asks for
  kDecomposition,  // pieces, as the file asks for
};

// A mesh that a robot file names.
struct MeshRequest {
  std::string uri;
  std::string folder;  // base of relative paths
  Eigen::Vector3d scale = Eigen::Vector3d::Ones();
  MeshUse use = MeshUse::kAutomatic;
  int max_pieces = 32;
  FilePlace place;
  std::string what;  // for messages: `link "wrist": collision mesh`
  std::string if_flat = "it touches nothing and has no mass";  // for messages
};

// Reads the meshes of a robot, each file once.
class RobotMeshes {
 public:
  RobotMeshes(RobotFiles* files, RobotLog* log) : files_(files), log_(log) {}

  // The surface in the file of a mesh, without the scale; null when it cannot be read.
  std::shared_ptr<const SurfaceMeshFile> FindSurface(const MeshRequest& request);

  // The shapes of a collision mesh, `shape` repeated with the geometry filled in; as a SurfaceMesh
  // when the link is fixed on the world and the mesh closed. Empty, with errors, when there is no
  // such file; or with a warning when it encloses no volume.
  std::vector<RobotShape> MakeCollisions(const MeshRequest& request, const RobotShape& shape,
                                         bool fixed);

  // A visual mesh, `shape` repeated for each material in the file unless it has its own; nothing,
  // with a warning, when it cannot be read.
  std::vector<RobotShape> MakeVisuals(const MeshRequest& request, const RobotShape& shape);

  // As above, from vertices and triangles given in the robot file; no triangles: the hull of the
  // vertices.
  std::vector<RobotShape> MakeCollisions(const TriangleMesh& mesh, const MeshRequest& request,
                                         const RobotShape& shape, bool fixed);

  // A volume mesh, scaled; without `mesh`, with errors, when it cannot be read or has defects.
  // Repaired where possible: `vertices` are the file's numbers of the vertices kept.
  struct Volume {
    std::shared_ptr<const TetrahedralMesh> mesh;
    std::string path;
    std::vector<int> vertices;
  };
  Volume ReadVolume(const MeshRequest& request);

 private:
  using Scaled = std::tuple<std::string, double, double, double>;  // a path and a scale

  absl::StatusOr<std::string> Find(const MeshRequest& request) const;
  absl::StatusOr<std::shared_ptr<const SurfaceMeshFile>> ReadSurface(const std::string& path);
  std::vector<RobotShape> MakePieces(const TriangleMesh& mesh, const std::string& name,
                                     const MeshRequest& request, const RobotShape& shape,
                                     bool fixed);
  std::vector<RobotShape> Decompose(const SurfaceMesh& surface, double hull_volume,
                                    const MeshRequest& request, const RobotShape& shape);

  RobotFiles* files_;
  RobotLog* log_;

  // Bytes of a file that the mesh at `path` names: of an image, or of materials or a part of the
  // mesh.
  absl::StatusOr<std::string> ReadCompanion(const std::string& path, const std::string& name,
                                            bool is_image);

  std::map<std::string, absl::StatusOr<std::shared_ptr<const SurfaceMeshFile>>> surfaces_;
  std::map<std::pair<Scaled, bool>, std::vector<DressedPart>> visuals_;  // true: as in the file
  std::map<std::tuple<Scaled, MeshUse, int, bool>, std::vector<RobotShape>> collisions_;
  std::map<Scaled, Volume> volumes_;
};

}  // namespace pliant::physics
