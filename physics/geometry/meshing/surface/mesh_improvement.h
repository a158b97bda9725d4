#pragma once

#include <array>
#include <functional>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Freedom of a vertex while a mesh is improved.
enum class VertexMotion : char { kFree, kOnSurface, kOnCurve, kFixed };

struct ImprovementInput {
  std::vector<VertexMotion> motion;            // per vertex
  std::vector<std::array<int, 2>> kept_edges;  // ascending, sorted: never flipped or collapsed
  // Position nearest to p that vertex v may take [m]; not called for free and fixed vertices.
  std::function<Eigen::Vector3d(int v, const Eigen::Vector3d& p)> project;
  // Receives the share of the work done, 0 to 1; returns false to stop.
  std::function<bool(double share)> goes_on;
};

// Increases the sines of dihedral angles, the smallest first: moves vertices, removes edges and
// swaps faces (Freitag & Ollivier-Gooch 1997), and collapses edges, each only when that improves
// the worst tetrahedron involved. Inverted tetrahedra are allowed and count as worst. Tetrahedra
// whose smallest sine is `target` or more are left alone. Collapsed vertices remain, unused.
// Returns false when stopped.
bool ImproveMesh(const ImprovementInput& input, double target, int passes, TetrahedralMesh* mesh);

}  // namespace pliant::physics
