#include "physics/geometry/meshing/tetrahedral_meshes.h"

#include <array>
#include <cmath>
#include <vector>

#include "absl/status/status.h"

#include "physics/geometry/meshing/grid_mesh.h"
#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/subdivided_tetrahedra.h"
#include "physics/spatial/demand.h"

namespace pliant::physics {
using Eigen::Vector3d;

absl::StatusOr<TetrahedralMesh> MeshBox(const Vector3d& size, double edge_length,
                                        const IsCancelled& is_cancelled) {
  if (absl::Status status = CheckLengths({{"size[0]", size.x()},
                                          {"size[1]", size.y()},
                                          {"size[2]", size.z()},
                                          {"edge_length", edge_length}});
      !status.ok()) {
    return status;
  }
  double cells[3];
  for (int axis = 0; axis < 3; ++axis) cells[axis] = CountEdges(size[axis], edge_length);
  if (absl::Status status = CheckCount(6 * cells[0] * cells[1] * cells[2], edge_length);
      !status.ok())
    return status;
  return MeshGrid(
      size, {static_cast<int>(cells[0]), static_cast<int>(cells[1]), static_cast<int>(cells[2])},
      is_cancelled);
}

absl::StatusOr<TetrahedralMesh> MeshSphere(double radius, double edge_length,
                                           const IsCancelled& is_cancelled) {
  if (absl::Status status = CheckLengths({{"radius", radius}, {"edge_length", edge_length}});
      !status.ok())
    return status;
  const double shells = CountEdges(radius, edge_length);
  if (absl::Status status = CheckCount(20 * shells * shells * shells, edge_length); !status.ok())
    return status;
  const int n = static_cast<int>(shells);

  // an icosahedron on the unit sphere: vertices (0, ±1, ±φ) and cyclic; faces are the triples of
  // vertices one edge apart
  const double phi = 0.5 * (1 + std::sqrt(5.0));
  const double scale = 1 / std::sqrt(1 + phi * phi);
  std::vector<Vector3d> corners;
  for (int axis = 0; axis < 3; ++axis) {
    for (int signs = 0; signs < 4; ++signs) {
      Vector3d p = Vector3d::Zero();
      p[(axis + 1) % 3] = (signs & 1 ? -scale : scale);
      p[(axis + 2) % 3] = (signs & 2 ? -scale : scale) * phi;
      corners.push_back(p);
    }
  }
  const double longest = 2.1 * scale;  // edges are 2 · scale, the next distance 3.2 · scale
  std::vector<std::array<int, 4>> cells;
  for (int a = 0; a < 12; ++a) {
    for (int b = a + 1; b < 12; ++b) {
      for (int c = b + 1; c < 12; ++c) {
        if ((corners[a] - corners[b]).norm() < longest &&
            (corners[b] - corners[c]).norm() < longest &&
            (corners[c] - corners[a]).norm() < longest) {
          cells.push_back({12, a, b, c});
        }
      }
    }
  }
  PLIANT_DEMAND(cells.size() == 20);

  // map flat shells of the icosahedron to spherical ones; corner 12 is the centre
  const auto place = [&](const LatticePoint& point) -> Vector3d {
    Vector3d p = Vector3d::Zero();
    int shell = 0;
    for (int i = 0; i < point.count; ++i) {
      if (point.corner[i] == 12) continue;
      p += point.weight[i] * corners[point.corner[i]];
      shell += point.weight[i];
    }
    return shell == 0 ? p : Vector3d(p * (radius * (shell / shells) / p.norm()));
  };
  absl::StatusOr<TetrahedralMesh> mesh = SubdivideTetrahedra(cells, n, place, is_cancelled);
  if (mesh.ok()) Orient(&*mesh);
  return mesh;
}

}  // namespace pliant::physics
