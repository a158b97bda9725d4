#include "physics/geometry/meshing/grid_mesh.h"

#include <algorithm>

#include "absl/status/status.h"

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/subdivided_tetrahedra.h"

namespace pliant::physics {

using Eigen::Vector3d;

absl::StatusOr<TetrahedralMesh> MeshGrid(const Vector3d& size, const std::array<int, 3>& n,
                                         const IsCancelled& is_cancelled) {
  if (absl::Status status =
          CheckLengths({{"size[0]", size.x()}, {"size[1]", size.y()}, {"size[2]", size.z()}});
      !status.ok()) {
    return status;
  }
  if (n[0] < 1 || n[1] < 1 || n[2] < 1)
    return absl::InvalidArgumentError("a grid has at least one cell along each axis");
  const double cells[3] = {double(n[0]), double(n[1]), double(n[2])};
  const double shortest = std::min({size.x() / cells[0], size.y() / cells[1], size.z() / cells[2]});
  if (absl::Status status = CheckCount(6 * cells[0] * cells[1] * cells[2], shortest); !status.ok())
    return status;

  TetrahedralMesh mesh;
  for (int k = 0; k <= n[2]; ++k) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    for (int j = 0; j <= n[1]; ++j) {
      for (int i = 0; i <= n[0]; ++i) {
        // exact at both ends, and symmetric about the centre
        mesh.vertices.emplace_back(0.5 * size.x() * ((2 * i - n[0]) / cells[0]),
                                   0.5 * size.y() * ((2 * j - n[1]) / cells[1]),
                                   0.5 * size.z() * ((2 * k - n[2]) / cells[2]));
      }
    }
  }
  const auto vertex = [&n](const std::array<int, 3>& at) {
    return (at[2] * (n[1] + 1) + at[1]) * (n[0] + 1) + at[0];
  };

  // walk along the cell's edges from an even corner to the opposite, odd one; each of the six
  // orders of axes gives one tetrahedron
  constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int k = 0; k < n[2]; ++k) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    for (int j = 0; j < n[1]; ++j) {
      for (int i = 0; i < n[0]; ++i) {
        const std::array<int, 3> even = {i + i % 2, j + j % 2, k + k % 2};
        const std::array<int, 3> odd = {i + 1 - i % 2, j + 1 - j % 2, k + 1 - k % 2};
        for (const auto& order : kOrders) {
          std::array<int, 4> t;
          std::array<int, 3> at = even;
          t[0] = vertex(at);
          for (int step = 0; step < 3; ++step) {
            at[order[step]] = odd[order[step]];
            t[step + 1] = vertex(at);
          }
          mesh.tetrahedra.push_back(t);
        }
      }
    }
  }
  Orient(&mesh);
  return mesh;
}

}  // namespace pliant::physics
