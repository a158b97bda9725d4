#include "physics/geometry/convex_hull.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using Polygon = std::vector<int>;  // corners in order
using Triangle = std::array<int, 3>;

// Whether points of size one lie within the tolerance of a plane through three that are far apart.
bool AreFlat(const std::vector<Vector3d>& points) {
  const auto find_largest = [&](const auto& value) {
    return *std::max_element(
        points.begin(), points.end(),
        [&](const Vector3d& a, const Vector3d& b) { return value(a) < value(b); });
  };
  const Vector3d a = find_largest([](const Vector3d& p) { return p.squaredNorm(); });
  const Vector3d side = find_largest([&](const Vector3d& p) { return (p - a).squaredNorm(); }) - a;
  const auto area = [&](const Vector3d& p) { return side.cross(p - a).squaredNorm(); };
  const Vector3d normal = side.cross(find_largest(area) - a);
  const auto height = [&](const Vector3d& p) { return std::abs(normal.dot(p - a)); };
  return !(normal.norm() > 4 * kHullTolerance * side.norm()) ||
         !(height(find_largest(height)) > 4 * kHullTolerance * normal.norm());
}

// Corners of one of the library's facets, in order around it; empty if its sides form no loop.
Polygon OrderCorners(qhT* qh, facetT* facet) {
  const auto number = [qh](void* vertex) {
    return qh_pointid(qh, static_cast<vertexT*>(vertex)->point);
  };
  Polygon corners;
  if (facet->simplicial) {
    vertexT *vertex, **vertexp;
    FOREACHvertex_(facet->vertices) corners.push_back(number(vertex));
    if (!facet->toporient) std::reverse(corners.begin(), corners.end());
    return corners;
  }
  std::vector<std::pair<int, int>> sides;
  ridgeT *ridge, **ridgep;
  FOREACHridge_(facet->ridges) {
    std::pair side(number(SETfirst_(ridge->vertices)), number(SETsecond_(ridge->vertices)));
    if (ridge->top != facet) std::swap(side.first, side.second);
    sides.push_back(side);
  }
  std::sort(sides.begin(), sides.end());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const int from = corners.empty() ? sides[0].first : corners.back();
    const auto side = std::lower_bound(sides.begin(), sides.end(), std::pair(from, -1));
    if (side == sides.end() || side->first != from) return {};
    corners.push_back(side->second);
  }
  std::sort(sides.begin(), sides.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto meets = [](const auto& a, const auto& b) { return a.second == b.second; };
  const bool is_loop = std::adjacent_find(sides.begin(), sides.end(), meets) == sides.end();
  return is_loop ? corners : Polygon();
}

// Facets of the convex hull by the library Qhull; empty where it fails. It merges facets that are
// coplanar or, by rounding, concave, so that points inside faces and edges are left out. Facets are
// oriented by their topology, consistently even for slivers.
std::vector<Polygon> FindFacets(const std::vector<Vector3d>& points, double tolerance) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> silence(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  if (silence == nullptr) return {};
  std::vector<double> coordinates;
  coordinates.reserve(3 * points.size());
  for (const Vector3d& p : points) coordinates.insert(coordinates.end(), {p.x(), p.y(), p.z()});

  // the library's macros read a variable of this name
  const auto memory = std::make_unique<qhT>();
  qhT* const qh = memory.get();
  qh_zero(qh, silence.get());
  // W: points that far outside of a facet are corners; Pp: no messages on merged facets
  std::string options = "qhull Pp";
  if (tolerance > 0) absl::StrAppend(&options, " W", tolerance);
  std::vector<Polygon> facets;
  if (qh_new_qhull(qh, 3, static_cast<int>(points.size()), coordinates.data(), /*ismalloc=*/False,
                   options.data(), nullptr, silence.get()) == 0) {
    facetT* facet;
    FORALLfacets facets.push_back(OrderCorners(qh, facet));
  }
  qh_freeqhull(qh, !qh_ALL);
  int blocks = 0, bytes = 0;
  qh_memfreeshort(qh, &blocks, &bytes);
  return facets;
}

// Cuts a convex polygon into triangles. The first one joins the first and the last corner to the
// corner halfway between them; the polygons on both sides of it are cut in the same way.
void AppendTriangles(std::span<const int> corners, std::vector<Triangle>* triangles) {
  if (corners.size() < 3) return;
  const std::size_t middle = corners.size() / 2;
  triangles->push_back({corners.front(), corners[middle], corners.back()});
  AppendTriangles(corners.first(middle + 1), triangles);
  AppendTriangles(corners.subspan(middle), triangles);
}

// Whether triangles form a closed surface without handles: each edge has one in each direction.
bool IsClosed(const std::vector<Triangle>& triangles) {
  std::vector<std::pair<int, int>> edges;
  std::vector<int> vertices;
  for (const Triangle& t : triangles) {
    vertices.insert(vertices.end(), t.begin(), t.end());
    for (int i = 0; i < 3; ++i) edges.emplace_back(t[i], t[(i + 1) % 3]);
  }
  std::sort(edges.begin(), edges.end());
  if (std::adjacent_find(edges.begin(), edges.end()) != edges.end()) return false;
  for (const auto& [from, to] : edges)
    if (!std::binary_search(edges.begin(), edges.end(), std::pair(to, from))) return false;
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  return vertices.size() + triangles.size() == edges.size() / 2 + 2;
}

// Triangles of the hull, counter-clockwise from outside; empty where the library fails.
std::vector<Triangle> FindTriangles(const std::vector<Vector3d>& points, double tolerance) {
  std::vector<Triangle> triangles;
  for (const Polygon& facet : FindFacets(points, tolerance)) {
    if (facet.size() < 3) return {};
    AppendTriangles(facet, &triangles);
  }
  if (!IsClosed(triangles)) return {};
  double six_volumes = 0;
  for (const Triangle& t : triangles)
    six_volumes += points[t[0]].dot(points[t[1]].cross(points[t[2]]));
  // whether facets are clockwise is a convention of the library
  if (six_volumes < 0) {
    for (Triangle& t : triangles) std::swap(t[1], t[2]);
  }
  return triangles;
}

// Drops the vertices that are not used, keeping the order of the others.
TriangleMesh Compact(const std::vector<Vector3d>& points, std::vector<Triangle> triangles) {
  TriangleMesh mesh;
  mesh.triangles = std::move(triangles);
  std::vector<int> number(points.size(), -1);
  for (const Triangle& t : mesh.triangles) {
    for (const int v : t) number[v] = 0;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(points[i]);
  }
  for (Triangle& t : mesh.triangles) {
    for (int& v : t) v = number[v];
  }
  return mesh;
}

}  // namespace

absl::StatusOr<TriangleMesh> CalcConvexHull(const std::vector<Vector3d>& points, double tolerance) {
  Vector3d lower = Vector3d::Constant(std::numeric_limits<double>::infinity());
  Vector3d upper = -lower;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].allFinite())
      return absl::InvalidArgumentError(absl::StrCat("point ", i, " is not finite"));
    lower = lower.cwiseMin(points[i]);
    upper = upper.cwiseMax(points[i]);
  }
  const double size = points.empty() ? 0 : (upper - lower).norm();
  if (points.size() < 4 || !(size > 0) || !std::isfinite(size * size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the convex hull of ", points.size(),
                     " points has no volume; expected at least 4 points that lie in no plane"));
  }
  std::vector<Vector3d> scaled(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    scaled[i] = (points[i] - lower - (upper - lower) / 2) / size;
  if (AreFlat(scaled)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", points.size(), " points lie in a plane; a convex hull needs volume"));
  }

  std::vector<Triangle> triangles = FindTriangles(scaled, tolerance);
  if (!triangles.empty()) return Compact(points, std::move(triangles));
  return absl::InternalError(
      absl::StrCat("the convex hull of ", points.size(), " points could not be found"));
}

}  // namespace pliant::physics
