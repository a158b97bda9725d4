#include "physics/geometry/boundary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace pliant::physics {
std::vector<TetrahedronFace> SortFaces(const TetrahedralMesh& mesh,
                                       std::span<const char> excluded) {
  // group the faces by their lowest corner, then sort each of the small groups
  const auto corners_of = [&](std::size_t place) {
    const std::array<int, 4>& t = mesh.tetrahedra[place / 4];
    const int(&at)[3] = kTetrahedronFaces[place % 4];
    std::array<int, 3> corners = {t[at[0]], t[at[1]], t[at[2]]};
    if (corners[0] > corners[1]) std::swap(corners[0], corners[1]);
    if (corners[1] > corners[2]) std::swap(corners[1], corners[2]);
    if (corners[0] > corners[1]) std::swap(corners[0], corners[1]);
    return corners;
  };
  const auto visit = [&](auto&& take) {
    for (std::size_t place = 0; place < 4 * mesh.tetrahedra.size(); ++place)
      if (excluded.empty() || !excluded[place / 4]) take(corners_of(place), place);
  };
  const int count = static_cast<int>(mesh.vertices.size());
  std::vector<std::size_t> first(count + 1, 0);
  visit([&](const std::array<int, 3>& corners, std::size_t) { ++first[corners[0] + 1]; });
  for (int v = 0; v < count; ++v) first[v + 1] += first[v];
  std::vector<TetrahedronFace> faces(first[count]);
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  visit([&](const std::array<int, 3>& corners, std::size_t place) {
    faces[next[corners[0]]++] = {corners, static_cast<int>(place)};
  });
  for (int v = 0; v < count; ++v) {
    std::sort(faces.begin() + static_cast<std::ptrdiff_t>(first[v]),
              faces.begin() + static_cast<std::ptrdiff_t>(first[v + 1]),
              [](const TetrahedronFace& a, const TetrahedronFace& b) {
                return a.corners != b.corners ? a.corners < b.corners : a.place < b.place;
              });
  }
  return faces;
}

BoundarySurface ExtractBoundary(const TetrahedralMesh& mesh) {
  // faces that belong to one tetrahedron only
  std::vector<int> places;
  VisitEqualFaces(SortFaces(mesh), [&](const TetrahedronFace* faces, std::size_t count) {
    if (count == 1) places.push_back(faces[0].place);
  });
  std::sort(places.begin(), places.end());

  BoundarySurface boundary;
  std::vector<char> on_boundary(mesh.vertices.size(), 0);
  for (const int place : places) {
    const std::array<int, 4>& t = mesh.tetrahedra[place / 4];
    const int(&corners)[3] = kTetrahedronFaces[place % 4];
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
