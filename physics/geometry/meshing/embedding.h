#pragma once

#include <array>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Points as weighted sums of the nodes of tetrahedra.
struct Embedding {
  std::vector<std::array<int, 4>> nodes;  // of each point
  std::vector<Eigen::Vector4d> weights;   // which sum to 1
  double max_distance = 0;                // of a point from the mesh [m]
};

// Embeds points in the tetrahedra that contain them, or else in the one behind the nearest point of
// the boundary, whose weights are then extrapolated: some are negative.
//
// mesh      valid (mesh_checks.h), with its boundary
// returns   the same for the same input
Embedding EmbedPoints(const std::vector<Eigen::Vector3d>& points, const TetrahedralMesh& mesh,
                      const BoundarySurface& boundary);

}  // namespace pliant::physics
