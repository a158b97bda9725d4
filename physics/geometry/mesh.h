#pragma once

#include <array>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// A surface. Triangles are counter-clockwise seen from outside.
struct TriangleMesh {
  std::vector<Eigen::Vector3d> vertices;  // [m]
  std::vector<std::array<int, 3>> triangles;
};

// A volume. det(x1 − x0, x2 − x0, x3 − x0) > 0 for every tetrahedron once validated.
struct TetrahedralMesh {
  std::vector<Eigen::Vector3d> vertices;  // [m]
  std::vector<std::array<int, 4>> tetrahedra;
  std::vector<int> labels;  // cell label of each tetrahedron; empty when the file has none
};

// The boundary of a tetrahedral mesh, in its own vertex numbers.
struct BoundarySurface {
  std::vector<std::array<int, 3>> triangles;  // volume vertices, counter-clockwise from outside
  std::vector<int> vertices;                  // volume vertices on the boundary, ascending
};

// Faces that belong to one tetrahedron only, ordered by (tetrahedron, face).
BoundarySurface ExtractBoundary(const TetrahedralMesh& mesh);

// Σ V [m³]; inverted tetrahedra count negative.
double CalcVolume(const TetrahedralMesh& mesh);

}  // namespace pliant::physics
