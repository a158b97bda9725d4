#include "physics/geometry/convex_hull.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/geometry/qhull.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// An oblique direction: no hull of interest has an edge or a face perpendicular to it.
const Vector3d kOblique(0.8192310, 0.4517393, 0.3533011);

struct Face {
  std::array<int, 3> vertices;
  std::array<int, 3> neighbors;  // across the edge from vertex i to the next
  Vector3d normal;
  double offset;
  std::vector<int> outside;  // points that see this face and are not on the hull yet
  bool alive = true;
};

struct HorizonEdge {
  int from;
  int to;
  int beyond;  // the face that remains
};

class Quickhull {
 public:
  Quickhull(const std::vector<Vector3d>& points, double tolerance)
      : points_(points), tolerance_(tolerance) {}

  enum class Result { kDone, kFlat, kInconsistent };

  // kInconsistent: rounding left a horizon that is not a simple loop, or a hull that is not convex.
  Result Run() {
    if (!MakeSimplex()) return Result::kFlat;
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      if (!faces_[i].alive || faces_[i].outside.empty()) continue;
      if (!AddPoint(FindFarthest(faces_[i]), static_cast<int>(i))) return Result::kInconsistent;
    }
    return IsConvex() ? Result::kDone : Result::kInconsistent;
  }

  std::vector<std::array<int, 3>> triangles() const {
    std::vector<std::array<int, 3>> triangles;
    for (const Face& face : faces_) {
      if (face.alive) triangles.push_back(face.vertices);
    }
    return triangles;
  }

 private:
  double Distance(const Face& face, int point) const {
    return face.normal.dot(points_[point]) - face.offset;
  }

  // The point with the largest value; of those within the tolerance of it, the most oblique.
  template <typename Value>
  int FindLargest(const std::vector<int>& candidates, const Value& value) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (const int point : candidates) largest = std::max(largest, value(point));
    int best = -1;
    for (const int point : candidates) {
      if (value(point) < largest - tolerance_) continue;
      if (best < 0 || kOblique.dot(points_[point]) > kOblique.dot(points_[best])) best = point;
    }
    return best;
  }

  int FindFarthest(const Face& face) const {
    return FindLargest(face.outside, [&](int point) { return Distance(face, point); });
  }

  bool MakeSimplex() {
    std::vector<int> all(points_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    const int a = FindLargest(all, [&](int p) { return kOblique.dot(points_[p]); });
    const int b = FindLargest(all, [&](int p) { return (points_[p] - points_[a]).norm(); });
    const Vector3d line = (points_[b] - points_[a]).normalized();
    const int c =
        FindLargest(all, [&](int p) { return line.cross(points_[p] - points_[a]).norm(); });
    if (!(line.cross(points_[c] - points_[a]).norm() > 4 * tolerance_)) return false;
    const Vector3d normal = line.cross(points_[c] - points_[a]).normalized();
    const int d =
        FindLargest(all, [&](int p) { return std::abs(normal.dot(points_[p] - points_[a])); });
    const double height = normal.dot(points_[d] - points_[a]);
    if (!(std::abs(height) > 4 * tolerance_)) return false;

    std::array<int, 4> corners = {a, b, c, d};
    if (height < 0) std::swap(corners[1], corners[2]);
    constexpr int kFaces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (const auto& face : kFaces) {
      if (!PushFace({corners[face[0]], corners[face[1]], corners[face[2]]})) return false;
    }
    for (int f = 0; f < 4; ++f) {
      for (int i = 0; i < 3; ++i) {
        // the neighbour is the face opposite to the corner that is not on the edge
        for (int other = 0; other < 4; ++other) {
          if (other != f && corners[other] == faces_[f].vertices[(i + 2) % 3])
            faces_[f].neighbors[i] = other;
        }
      }
    }
    Distribute(all, 0);
    return true;
  }

  bool PushFace(const std::array<int, 3>& vertices) {
    Face face;
    face.vertices = vertices;
    face.neighbors = {-1, -1, -1};
    const Vector3d& origin = points_[vertices[0]];
    const Vector3d normal = (points_[vertices[1]] - origin).cross(points_[vertices[2]] - origin);
    const double area = normal.norm();
    if (!(area > 0)) return false;
    face.normal = normal / area;
    face.offset = face.normal.dot(origin);
    faces_.push_back(std::move(face));
    return true;
  }

  // Assigns each point to the face, from `first` on, that it is farthest outside of.
  void Distribute(const std::vector<int>& points, std::size_t first) {
    for (const int point : points) {
      std::size_t best = faces_.size();
      double largest = tolerance_;
      for (std::size_t f = first; f < faces_.size(); ++f) {
        const double distance = Distance(faces_[f], point);
        if (distance > largest) {
          largest = distance;
          best = f;
        }
      }
      if (best < faces_.size()) faces_[best].outside.push_back(point);
    }
  }

  // Replaces all faces that the point sees by a cone from it to their horizon; false if the horizon
  // is no simple loop.
  bool AddPoint(int point, int seed) {
    std::vector<int> visible = {seed};
    std::vector<HorizonEdge> horizon;
    std::vector<int> orphans;
    faces_[seed].alive = false;
    for (std::size_t i = 0; i < visible.size(); ++i) {
      Face& face = faces_[visible[i]];
      orphans.insert(orphans.end(), face.outside.begin(), face.outside.end());
      for (int edge = 0; edge < 3; ++edge) {
        const int beyond = face.neighbors[edge];
        if (!faces_[beyond].alive) continue;
        if (Distance(faces_[beyond], point) > tolerance_) {
          faces_[beyond].alive = false;
          visible.push_back(beyond);
        }
      }
    }
    // horizon: the edges between removed and remaining faces
    for (const int f : visible) {
      const Face& face = faces_[f];
      for (int edge = 0; edge < 3; ++edge) {
        if (faces_[face.neighbors[edge]].alive) {
          horizon.push_back(
              {face.vertices[edge], face.vertices[(edge + 1) % 3], face.neighbors[edge]});
        }
      }
      faces_[f].outside = {};
    }
    std::sort(horizon.begin(), horizon.end(),
              [](const HorizonEdge& a, const HorizonEdge& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < horizon.size(); ++i) {
      if (horizon[i].from == horizon[i - 1].from) return false;
    }
    if (horizon.size() < 3) return false;

    const std::size_t first = faces_.size();
    for (const HorizonEdge& edge : horizon) {
      if (!PushFace({edge.from, edge.to, point})) return false;
    }
    for (std::size_t i = 0; i < horizon.size(); ++i) {
      const HorizonEdge& edge = horizon[i];
      const auto next =
          std::lower_bound(horizon.begin(), horizon.end(), edge.to,
                           [](const HorizonEdge& a, int from) { return a.from < from; });
      if (next == horizon.end() || next->from != edge.to) return false;
      const int here = static_cast<int>(first + i);
      const int after = static_cast<int>(first) + static_cast<int>(next - horizon.begin());
      faces_[here].neighbors[0] = edge.beyond;
      faces_[here].neighbors[1] = after;
      faces_[after].neighbors[2] = here;
      Face& beyond = faces_[edge.beyond];
      for (int j = 0; j < 3; ++j) {
        if (beyond.vertices[j] == edge.to && beyond.vertices[(j + 1) % 3] == edge.from)
          beyond.neighbors[j] = here;
      }
    }
    orphans.erase(std::remove(orphans.begin(), orphans.end(), point), orphans.end());
    Distribute(orphans, first);
    return true;
  }

  // True if no face has the far corner of a neighbour in front of it.
  bool IsConvex() const {
    for (const Face& face : faces_) {
      if (!face.alive) continue;
      for (const int neighbor : face.neighbors) {
        if (neighbor < 0 || !faces_[neighbor].alive) return false;
        for (const int v : faces_[neighbor].vertices) {
          if (Distance(face, v) > 4 * tolerance_) return false;
        }
      }
    }
    return true;
  }

  const std::vector<Vector3d>& points_;
  double tolerance_;
  std::vector<Face> faces_;
};

// Corners of the hull: vertices around which the normals span space. Inside a face or an edge they
// span one or two dimensions.
std::vector<int> FindCorners(const std::vector<Vector3d>& points,
                             const std::vector<std::array<int, 3>>& triangles) {
  std::vector<std::pair<int, Vector3d>> normals;
  for (const auto& t : triangles) {
    const Vector3d normal =
        (points[t[1]] - points[t[0]]).cross(points[t[2]] - points[t[0]]).normalized();
    for (const int v : t) normals.emplace_back(v, normal);
  }
  std::stable_sort(normals.begin(), normals.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> corners;
  for (std::size_t begin = 0, end; begin < normals.size(); begin = end) {
    const Vector3d& first = normals[begin].second;
    Vector3d edge = Vector3d::Zero();
    for (end = begin; end < normals.size() && normals[end].first == normals[begin].first; ++end) {
      const Vector3d cross = first.cross(normals[end].second);
      if (cross.norm() > edge.norm()) edge = cross;
    }
    double out_of_plane = 0;
    for (std::size_t i = begin; i < end && edge.norm() > kHullTolerance; ++i) {
      out_of_plane = std::max(out_of_plane, std::abs(edge.normalized().dot(normals[i].second)));
    }
    if (out_of_plane > kHullTolerance) corners.push_back(normals[begin].first);
  }
  return corners;
}

// A pseudo-random number in [−1, 1) that depends only on the arguments.
double Scatter(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t z = index * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

// Drops the vertices that are not used, keeping the order of the others.
TriangleMesh Compact(const std::vector<Vector3d>& points,
                     const std::vector<std::array<int, 3>>& triangles) {
  TriangleMesh mesh;
  mesh.triangles = triangles;
  std::vector<int> number(points.size(), -1);
  for (const auto& t : triangles) {
    for (const int v : t) number[v] = 0;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(points[i]);
  }
  for (auto& t : mesh.triangles) {
    for (int& v : t) v = number[v];
  }
  return mesh;
}

// Computes the hull of a hull's corners alone, repeatedly while there are vertices inside faces and
// edges.
std::vector<std::array<int, 3>> KeepCorners(const std::vector<Vector3d>& points,
                                            std::vector<std::array<int, 3>> triangles) {
  std::vector<int> corners = FindCorners(points, triangles);
  for (std::size_t before = triangles.size() / 2 + 2;
       corners.size() >= 4 && corners.size() < before;) {
    std::vector<Vector3d> kept;
    for (const int v : corners) kept.push_back(points[v]);
    Quickhull smaller(kept, kHullTolerance);
    if (smaller.Run() != Quickhull::Result::kDone) break;
    triangles = smaller.triangles();
    for (auto& t : triangles) t = {corners[t[0]], corners[t[1]], corners[t[2]]};
    before = corners.size();
    corners = FindCorners(points, triangles);
  }
  return triangles;
}

}  // namespace

absl::StatusOr<TriangleMesh> CalcConvexHull(const std::vector<Vector3d>& points) {
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

  // centre the points and scale them to size one; if rounding makes the hull inconsistent, perturb
  // them slightly and try again
  std::vector<Vector3d> scaled(points.size());
  double shake = 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      scaled[i] = (points[i] - lower - (upper - lower) / 2) / size;
      for (int axis = 0; axis < 3 && shake > 0; ++axis)
        scaled[i][axis] += shake * Scatter(3 * i + axis, attempt);
    }
    Quickhull hull(scaled, kHullTolerance);
    const Quickhull::Result result = hull.Run();
    if (result == Quickhull::Result::kFlat) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the ", points.size(), " points lie in a plane; a convex hull needs volume"));
    }
    shake = shake == 0 ? 4 * kHullTolerance : 4 * shake;
    if (result == Quickhull::Result::kInconsistent) continue;

    return Compact(points, KeepCorners(scaled, hull.triangles()));
  }

  // on smooth scans of thousands of points, every attempt fails
  for (std::size_t i = 0; i < points.size(); ++i)
    scaled[i] = (points[i] - lower - (upper - lower) / 2) / size;
  if (auto triangles = CalcHullWithQhull(scaled))
    return Compact(points, KeepCorners(scaled, *std::move(triangles)));
  return absl::InternalError(
      absl::StrCat("the convex hull of ", points.size(), " points could not be found"));
}

}  // namespace pliant::physics
