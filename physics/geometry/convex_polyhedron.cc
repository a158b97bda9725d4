#include "physics/geometry/convex_polyhedron.h"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Cosine of the angle (1e-6 rad) within which normals count as equal.
constexpr double kCoplanar = 1 - 5e-13;

using Triangles = std::vector<std::array<int, 3>>;

// Chains the boundary of a set of triangles, their directed edges without a twin, into a loop.
// Returns an empty one if they do not form a single loop.
std::vector<int> FindLoop(const Triangles& triangles, const std::vector<int>& members) {
  std::map<int, int> next;
  std::map<std::pair<int, int>, bool> edges;
  for (int t : members)
    for (int e = 0; e < 3; ++e) edges[{triangles[t][e], triangles[t][(e + 1) % 3]}] = true;
  for (const auto& [edge, present] : edges) {
    if (edges.count({edge.second, edge.first})) continue;
    if (!next.emplace(edge.first, edge.second).second) return {};
  }
  std::vector<int> loop;
  if (next.empty()) return loop;
  const int start = next.begin()->first;
  int current = start;
  do {
    loop.push_back(current);
    const auto found = next.find(current);
    if (found == next.end() || loop.size() > next.size()) return {};
    current = found->second;
  } while (current != start);
  if (loop.size() != next.size()) return {};
  return loop;
}

void AppendFace(const std::vector<int>& loop, const Vector3d& normal,
                ConvexPolyhedron* polyhedron) {
  polyhedron->normals.push_back(normal);
  polyhedron->face_vertices.insert(polyhedron->face_vertices.end(), loop.begin(), loop.end());
  polyhedron->face_starts.push_back(static_cast<int>(polyhedron->face_vertices.size()));
}

// Drops vertices in the middle of a straight edge.
std::vector<int> DropStraightCorners(const std::vector<int>& loop,
                                     const std::vector<Vector3d>& vertices) {
  std::vector<int> kept;
  const std::size_t n = loop.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Vector3d in = vertices[loop[i]] - vertices[loop[(i + n - 1) % n]];
    const Vector3d out = vertices[loop[(i + 1) % n]] - vertices[loop[i]];
    const double sine2 = in.cross(out).squaredNorm();
    if (sine2 > 1e-14 * in.squaredNorm() * out.squaredNorm()) kept.push_back(loop[i]);
  }
  return kept.size() >= 3 ? kept : loop;
}

}  // namespace

ConvexPolyhedron MakeBoxPolyhedron(const Vector3d& half_size) {
  ConvexPolyhedron box;
  // bit i of a vertex's number is set if it lies on the upper side of axis i
  for (int v = 0; v < 8; ++v)
    box.vertices.push_back(
        half_size.cwiseProduct(Vector3d(v & 1 ? 1 : -1, v & 2 ? 1 : -1, v & 4 ? 1 : -1)));
  for (int axis = 0; axis < 3; ++axis) {
    const int j = 1 << ((axis + 1) % 3), k = 1 << ((axis + 2) % 3), up = 1 << axis;
    AppendFace({0, k, j | k, j}, -Vector3d::Unit(axis), &box);
    AppendFace({up, up | j, up | j | k, up | k}, Vector3d::Unit(axis), &box);
  }
  return box;
}

ConvexPolyhedron MakeHullPolyhedron(const TriangleMesh& hull) {
  ConvexPolyhedron result;

  // join equal vertices
  std::map<std::array<double, 3>, int> known;
  std::vector<int> renumbered;
  for (const Vector3d& p : hull.vertices) {
    const auto [found, is_new] =
        known.try_emplace({p.x(), p.y(), p.z()}, static_cast<int>(result.vertices.size()));
    if (is_new) result.vertices.push_back(p);
    renumbered.push_back(found->second);
  }
  Triangles triangles;
  std::vector<Vector3d> normals;
  for (const auto& t : hull.triangles) {
    const std::array<int, 3> corners{renumbered[t[0]], renumbered[t[1]], renumbered[t[2]]};
    const Vector3d& a = result.vertices[corners[0]];
    const Vector3d n = (result.vertices[corners[1]] - a).cross(result.vertices[corners[2]] - a);
    const double norm = std::sqrt(n.squaredNorm());
    if (!(norm > 0)) continue;
    triangles.push_back(corners);
    normals.push_back(n / norm);
  }

  // grow each face over the neighbours in its plane
  std::map<std::pair<int, int>, int> triangle_of_edge;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (int e = 0; e < 3; ++e)
      triangle_of_edge[{triangles[t][e], triangles[t][(e + 1) % 3]}] = static_cast<int>(t);
  std::vector<bool> taken(triangles.size(), false);
  for (std::size_t seed = 0; seed < triangles.size(); ++seed) {
    if (taken[seed]) continue;
    taken[seed] = true;
    std::vector<int> members{static_cast<int>(seed)};
    for (std::size_t m = 0; m < members.size(); ++m) {
      for (int e = 0; e < 3; ++e) {
        const auto& t = triangles[members[m]];
        const auto found = triangle_of_edge.find({t[(e + 1) % 3], t[e]});
        if (found == triangle_of_edge.end() || taken[found->second]) continue;
        if (normals[found->second].dot(normals[seed]) < kCoplanar) continue;
        taken[found->second] = true;
        members.push_back(found->second);
      }
    }
    const std::vector<int> loop = FindLoop(triangles, members);
    if (!loop.empty()) {
      AppendFace(DropStraightCorners(loop, result.vertices), normals[seed], &result);
    } else {
      for (int m : members)
        AppendFace({triangles[m].begin(), triangles[m].end()}, normals[m], &result);
    }
  }
  return result;
}

}  // namespace pliant::physics
