#pragma once

#include <array>
#include <span>
#include <vector>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// The corners of the face opposite to each corner of a tetrahedron, counter-clockwise from outside
// for one of positive volume.
inline constexpr int kTetrahedronFaces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

struct TetrahedronFace {
  std::array<int, 3> corners;  // vertices, ascending
  int place;                   // 4 · tetrahedron + the corner that it is opposite to
};

// Faces of all tetrahedra, or of those that are not excluded, sorted by their corners and then by
// their places. All corners must be vertices of the mesh.
std::vector<TetrahedronFace> SortFaces(const TetrahedralMesh& mesh,
                                       std::span<const char> excluded = {});

// Calls visit(faces, count) for each group of faces with equal corners.
template <typename Visit>
void VisitEqualFaces(const std::vector<TetrahedronFace>& faces, Visit&& visit) {
  for (std::size_t begin = 0, end; begin < faces.size(); begin = end) {
    for (end = begin + 1; end < faces.size() && faces[end].corners == faces[begin].corners;) ++end;
    visit(&faces[begin], end - begin);
  }
}

}  // namespace pliant::physics
