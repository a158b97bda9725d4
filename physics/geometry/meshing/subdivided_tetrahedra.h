#pragma once

#include <array>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// A point of the lattice with n steps along each edge of a coarse tetrahedron: the corners with a
// positive number of steps towards them, ascending by corner; the steps sum to n. A point shared by
// two tetrahedra compares equal.
struct LatticePoint {
  int count = 0;
  std::array<int, 4> corner{};
  std::array<int, 4> weight{};
};

// Divides each coarse tetrahedron into n³ and places the lattice points. Lattice octahedra are cut
// along the diagonal whose worst tetrahedron is best. Volumes may have either sign.
//
// coarse  corner numbers in [0, 4096), n in [1, 8191]
// place   position of a lattice point [m]
// errors  CANCELLED
absl::StatusOr<TetrahedralMesh> SubdivideTetrahedra(
    const std::vector<std::array<int, 4>>& coarse, int n,
    const std::function<Eigen::Vector3d(const LatticePoint&)>& place,
    const IsCancelled& is_cancelled = {});

}  // namespace pliant::physics
