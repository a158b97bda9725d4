#include "physics/geometry/convex_polyhedron.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Cosine of the angle (1e-6 rad) within which normals count as equal.
constexpr double kCoplanar = 1 - 5e-13;

using Triangles = std::vector<std::array<int, 3>>;

// Hulls with more vertices are climbed along their edges instead of looking at all vertices, from
// seeds in kCells × kCells cells on each side of a cube.
constexpr std::size_t kMaxScanned = 48;
constexpr int kCells = 6;

int FindCell(const Vector3d& d) {
  int axis = 0;
  const double largest = d.cwiseAbs().maxCoeff(&axis);
  if (!(largest > 0)) return 0;
  int cell = 2 * axis + (d[axis] < 0 ? 1 : 0);
  for (int k = 1; k < 3; ++k) {
    const double at = 0.5 * kCells * (1 + d[(axis + k) % 3] / largest);
    cell = cell * kCells + (at > 0 ? static_cast<int>(std::min(at, kCells - 1.0)) : 0);
  }
  return cell;
}

Vector3d CenterOfCell(int cell) {
  const int v = cell % kCells, u = cell / kCells % kCells, side = cell / (kCells * kCells);
  Vector3d d;
  d[side / 2] = side % 2 == 0 ? 1 : -1;
  d[(side / 2 + 1) % 3] = 2 * (u + 0.5) / kCells - 1;
  d[(side / 2 + 2) % 3] = 2 * (v + 0.5) / kCells - 1;
  return d;
}

// The first of those vertices furthest along d that `counts` says.
template <typename Counts>
int ScanForSupport(const std::vector<Vector3d>& vertices, const Vector3d& d, Counts&& counts) {
  int found = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const double here = vertices[v].dot(d);
    if (here > largest && counts(v)) {
      largest = here;
      found = static_cast<int>(v);
    }
  }
  return found;
}

void PrepareClimbing(const Triangles& triangles, ConvexPolyhedron* hull) {
  const std::size_t count = hull->vertices.size();
  if (count <= kMaxScanned || triangles.empty()) return;
  std::vector<std::vector<int>> neighbors(count);
  for (const auto& t : triangles) {
    for (int e = 0; e < 3; ++e) {
      neighbors[t[e]].push_back(t[(e + 1) % 3]);
      neighbors[t[(e + 1) % 3]].push_back(t[e]);
    }
  }
  hull->neighbor_starts.assign(1, 0);
  for (std::vector<int>& list : neighbors) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    hull->neighbors.insert(hull->neighbors.end(), list.begin(), list.end());
    hull->neighbor_starts.push_back(static_cast<int>(hull->neighbors.size()));
  }
  for (int cell = 0; cell < 6 * kCells * kCells; ++cell)
    hull->seeds.push_back(ScanForSupport(hull->vertices, CenterOfCell(cell),
                                         [&](std::size_t v) { return !neighbors[v].empty(); }));
}

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

int ConvexPolyhedron::FindSupport(const Vector3d& d) const {
  if (seeds.empty()) return ScanForSupport(vertices, d, [](std::size_t) { return true; });
  int at = seeds[FindCell(d)];
  double height = vertices[at].dot(d);
  for (int next = at;; at = next) {
    for (int k = neighbor_starts[at]; k < neighbor_starts[at + 1]; ++k) {
      const double here = vertices[neighbors[k]].dot(d);
      if (here > height) {
        height = here;
        next = neighbors[k];
      }
    }
    if (next == at) return at;
  }
}

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
  std::vector<Vector3d> normals, area_normals;  // the latter twice as long as the area
  for (const auto& t : hull.triangles) {
    const std::array<int, 3> corners{renumbered[t[0]], renumbered[t[1]], renumbered[t[2]]};
    const Vector3d& a = result.vertices[corners[0]];
    const Vector3d n = (result.vertices[corners[1]] - a).cross(result.vertices[corners[2]] - a);
    const double norm = std::sqrt(n.squaredNorm());
    if (!(norm > 0)) continue;
    triangles.push_back(corners);
    normals.push_back(n / norm);
    area_normals.push_back(n);
  }

  // grow each face over the neighbours in its plane
  std::map<std::pair<int, int>, int> triangle_of_edge;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (int e = 0; e < 3; ++e)
      triangle_of_edge[{triangles[t][e], triangles[t][(e + 1) % 3]}] = static_cast<int>(t);
  PrepareClimbing(triangles, &result);
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
      // the mean normal follows from the loop alone, however it was cut into triangles
      Vector3d sum = Vector3d::Zero();
      for (const int m : members) sum += area_normals[m];
      AppendFace(DropStraightCorners(loop, result.vertices), sum / std::sqrt(sum.squaredNorm()),
                 &result);
    } else {
      for (int m : members)
        AppendFace({triangles[m].begin(), triangles[m].end()}, normals[m], &result);
    }
  }
  return result;
}

}  // namespace pliant::physics
