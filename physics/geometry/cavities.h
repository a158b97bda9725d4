#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Signed volume that a closed surface of vertices encloses [m³]: positive when its triangles are
// counter-clockwise seen from outside.
double CalcEnclosedVolume(std::span<const std::array<int, 3>> triangles,
                          std::span<const Eigen::Vector3d> vertices);

// True if each edge has as many triangles in one direction as in the other.
bool IsClosed(std::span<const std::array<int, 3>> triangles);

// The cavities of a tetrahedral mesh: the pieces of its boundary that enclose empty space. A piece
// is connected across edges with two triangles; one that is not closed by itself, because it
// touches another piece along an edge, is no cavity. All triangles are counter-clockwise seen from
// the wall, so that they enclose a positive volume.
struct Cavities {
  std::vector<std::array<int, 3>> triangles;
  int count = 0;
  int num_pieces = 0;     // of the boundary
  bool has_open = false;  // a piece is not closed by itself
};
Cavities FindCavities(const BoundarySurface& boundary, std::span<const Eigen::Vector3d> vertices);

}  // namespace pliant::physics
