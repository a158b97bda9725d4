#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/geometry/mesh.h"

namespace pliant::physics {
namespace {

// The face opposite to each corner, counter-clockwise from outside for a tetrahedron of positive
// volume.
constexpr int kFaces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

struct TetrahedronFace {
  std::array<int, 3> sorted;
  int place;  // 4 · tetrahedron + face
};

}  // namespace

BoundarySurface ExtractBoundary(const TetrahedralMesh& mesh) {
  std::vector<TetrahedronFace> faces(4 * mesh.tetrahedra.size());
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const std::array<int, 4>& t = mesh.tetrahedra[i / 4];
    const int(&corners)[3] = kFaces[i % 4];
    faces[i] = {{t[corners[0]], t[corners[1]], t[corners[2]]}, static_cast<int>(i)};
    std::sort(faces[i].sorted.begin(), faces[i].sorted.end());
  }
  std::sort(faces.begin(), faces.end(),
            [](const TetrahedronFace& a, const TetrahedronFace& b) { return a.sorted < b.sorted; });

  // a face without an equal neighbour in the sorted list belongs to one tetrahedron only
  std::vector<int> places;
  for (std::size_t begin = 0, end; begin < faces.size(); begin = end) {
    for (end = begin + 1; end < faces.size() && faces[end].sorted == faces[begin].sorted;) ++end;
    if (end == begin + 1) places.push_back(faces[begin].place);
  }
  std::sort(places.begin(), places.end());

  BoundarySurface boundary;
  std::vector<char> on_boundary(mesh.vertices.size(), 0);
  for (const int place : places) {
    const std::array<int, 4>& t = mesh.tetrahedra[place / 4];
    const int(&corners)[3] = kFaces[place % 4];
    boundary.triangles.push_back({t[corners[0]], t[corners[1]], t[corners[2]]});
    for (const int v : boundary.triangles.back()) on_boundary[v] = 1;
  }
  for (std::size_t v = 0; v < on_boundary.size(); ++v) {
    if (on_boundary[v]) boundary.vertices.push_back(static_cast<int>(v));
  }
  return boundary;
}

double CalcVolume(const TetrahedralMesh& mesh) {
  double six_volumes = 0;
  for (const std::array<int, 4>& t : mesh.tetrahedra) {
    const Eigen::Vector3d& p = mesh.vertices[t[0]];
    six_volumes +=
        (mesh.vertices[t[1]] - p).cross(mesh.vertices[t[2]] - p).dot(mesh.vertices[t[3]] - p);
  }
  return six_volumes / 6;
}

}  // namespace pliant::physics
