#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/geometry/mesh.h"
#include "physics/geometry/tetrahedron_faces.h"

namespace pliant::physics {
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
