#pragma once

#include <array>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// A box of `cells` cells along x, y and z, each at least one, as MeshBox fills it: six tetrahedra a
// cell, mirrored from cell to cell. Vertex (i, j, k) has the number (k (cells[1] + 1) + j)
// (cells[0] + 1) + i.
//
// size    full lengths [m], centred at the origin
// errors  as MeshBox, where the shortest side of a cell stands for the edge length
absl::StatusOr<TetrahedralMesh> MeshGrid(const Eigen::Vector3d& size,
                                         const std::array<int, 3>& cells,
                                         const IsCancelled& is_cancelled = {});

}  // namespace pliant::physics
