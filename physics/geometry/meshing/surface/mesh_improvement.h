#pragma once

#include <array>
#include <functional>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// What a vertex may do while a mesh is improved.
enum class VertexMotion : char { kFree, kOnSurface, kOnCurve, kFixed };

struct ImprovementInput {
  std::vector<VertexMotion> motion;            // per vertex
  std::vector<std::array<int, 2>> kept_edges;  // ascending, sorted: never flipped or collapsed
  // Nearest place to p that vertex v may take; not called for free or fixed ones.
  std::function<Eigen::Vector3d(int v, const Eigen::Vector3d& p)> project;
  // Reports the share done; returns false to stop.
  std::function<bool(double share)> goes_on;
};

// Raises the sines of dihedral angles, the worst first: moves vertices, removes edges and swaps
// faces (Freitag & Ollivier-Gooch 1997), and collapses edges, each only when that improves the
// worst tetrahedron involved. Inverted tetrahedra are allowed and count as worst. `target` is the
// sine from which a tetrahedron is left alone. Vertices of collapsed edges stay, unused. Returns
// false when stopped.
bool ImproveMesh(const ImprovementInput& input, double target, int passes, TetrahedralMesh* mesh);

}  // namespace pliant::physics
