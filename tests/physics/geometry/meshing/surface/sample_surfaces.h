#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/geometry/mesh.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

// A sphere of 2n meridians and n rows, radius `radius` cut by `dent` cos(lobes · longitude).
inline TriangleMesh MakeSphereSurface(int n, double radius = 1, double dent = 0, int lobes = 5) {
  TriangleMesh mesh;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      const SinCos row = CalcSinCos(kPi * i / n), column = CalcSinCos(kPi * j / n);
      const double r = radius + dent * row.sin * row.sin * CalcSinCos(kPi * lobes * j / n).cos;
      mesh.vertices.emplace_back(r * row.sin * column.cos, r * row.sin * column.sin, r * row.cos);
    }
  }
  const auto at = [n](int i, int j) { return i * 2 * n + (i == 0 || i == n ? 0 : j % (2 * n)); };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      if (i > 0) mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
      if (i + 1 < n) mesh.triangles.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  }
  return mesh;
}

// Triangles of a polygon whose corners are `order` into `points`, anticlockwise; a corner may come
// twice, where a bridge leads to a hole (ear clipping).
inline std::vector<std::array<int, 3>> ClipEars(const std::vector<Eigen::Vector2d>& points,
                                                std::vector<int> order) {
  const auto area = [&](int a, int b, int c) {
    const Eigen::Vector2d u = points[b] - points[a], v = points[c] - points[a];
    return u.x() * v.y() - u.y() * v.x();
  };
  std::vector<std::array<int, 3>> triangles;
  while (order.size() > 2) {
    // the ear with the shortest cut
    std::size_t best = order.size();
    double shortest = 1e300;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int a = order[(i + order.size() - 1) % order.size()], b = order[i],
                c = order[(i + 1) % order.size()];
      if (!(area(a, b, c) > 0) || !((points[c] - points[a]).norm() < shortest)) continue;
      const bool is_free = std::none_of(order.begin(), order.end(), [&](int p) {
        return p != a && p != b && p != c && area(a, b, p) >= 0 && area(b, c, p) >= 0 &&
               area(c, a, p) >= 0;
      });
      if (!is_free) continue;
      best = i;
      shortest = (points[c] - points[a]).norm();
    }
    if (best == order.size()) return {};
    triangles.push_back({order[(best + order.size() - 1) % order.size()], order[best],
                         order[(best + 1) % order.size()]});
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return triangles;
}

// A polygon, anticlockwise, with one round hole of `n` corners whose first one, towards +x, sees
// corner `bridge` of the polygon; swept along z from `low` to `high`.
inline TriangleMesh MakeDrilledPrism(const std::vector<Eigen::Vector2d>& polygon, int bridge,
                                     const Eigen::Vector2d& center, double radius, int n,
                                     double low, double high) {
  std::vector<Eigen::Vector2d> points = polygon;
  const int corners = static_cast<int>(polygon.size());
  for (int i = 0; i < n; ++i) {
    const SinCos at = CalcSinCos(2 * kPi * i / n);
    points.emplace_back(center + radius * Eigen::Vector2d(at.cos, at.sin));
  }
  std::vector<int> order;
  for (int i = 0; i <= corners; ++i) order.push_back((bridge + i) % corners);
  for (int i = 0; i <= n; ++i) order.push_back(corners + (n - i) % n);
  TriangleMesh mesh;
  const int count = corners + n;
  for (const double z : {low, high})
    for (const Eigen::Vector2d& p : points) mesh.vertices.emplace_back(p.x(), p.y(), z);
  for (const auto& [a, b, c] : ClipEars(points, order)) {
    mesh.triangles.push_back({a, c, b});
    mesh.triangles.push_back({count + a, count + b, count + c});
  }
  const auto add_wall = [&](int a, int b) {
    mesh.triangles.push_back({a, b, count + b});
    mesh.triangles.push_back({a, count + b, count + a});
  };
  for (int i = 0; i < corners; ++i) add_wall(i, (i + 1) % corners);
  for (int i = 0; i < n; ++i) add_wall(corners + (i + 1) % n, corners + i);
  return mesh;
}

// A polygon in the plane, anticlockwise, swept along z from `low` to `high`; its triangles between
// consecutive corners and the first one must not overlap.
inline TriangleMesh MakePrismSurface(const std::vector<Eigen::Vector2d>& polygon, double low,
                                     double high) {
  TriangleMesh mesh;
  const int n = static_cast<int>(polygon.size());
  for (const double z : {low, high})
    for (const Eigen::Vector2d& p : polygon) mesh.vertices.emplace_back(p.x(), p.y(), z);
  for (int i = 0; i < n; ++i) {
    const int j = (i + 1) % n;
    mesh.triangles.push_back({i, j, n + j});
    mesh.triangles.push_back({i, n + j, n + i});
    if (i == 0 || i + 1 == n) continue;
    mesh.triangles.push_back({0, i + 1, i});
    mesh.triangles.push_back({n, n + i, n + i + 1});
  }
  return mesh;
}

inline TriangleMesh MakeBoxSurface(const Eigen::Vector3d& size) {
  const double x = 0.5 * size.x(), y = 0.5 * size.y();
  return MakePrismSurface({{-x, -y}, {x, -y}, {x, y}, {-x, y}}, -0.5 * size.z(), 0.5 * size.z());
}

inline void AddSurface(const TriangleMesh& other, const Eigen::Vector3d& offset, bool inwards,
                       TriangleMesh* mesh) {
  const int first = static_cast<int>(mesh->vertices.size());
  for (const Eigen::Vector3d& p : other.vertices) mesh->vertices.push_back(p + offset);
  for (std::array<int, 3> t : other.triangles) {
    if (inwards) std::swap(t[1], t[2]);
    mesh->triangles.push_back({first + t[0], first + t[1], first + t[2]});
  }
}

inline double CalcEnclosedVolume(const TriangleMesh& mesh) {
  double volume = 0;
  for (const auto& t : mesh.triangles)
    volume += mesh.vertices[t[0]].dot(mesh.vertices[t[1]].cross(mesh.vertices[t[2]])) / 6;
  return volume;
}

// Largest distance of points on `from`, at most `spacing` apart, to `to`.
inline double CalcOneSidedDistance(const TriangleMesh& from, const TriangleMesh& to,
                                   double spacing) {
  const TriangleBvh bvh(to.triangles, PositionsOf(to));
  double farthest = 0;
  for (const auto& t : from.triangles) {
    const Eigen::Vector3d &a = from.vertices[t[0]], &b = from.vertices[t[1]],
                          &c = from.vertices[t[2]];
    const double longest = std::max({(a - b).norm(), (b - c).norm(), (c - a).norm()});
    const int n = 1 + static_cast<int>(longest / spacing);
    for (int i = 0; i <= n; ++i) {
      for (int j = 0; i + j <= n; ++j) {
        const Eigen::Vector3d p = a + (b - a) * i / n + (c - a) * j / n;
        const auto nearest = bvh.FindNearest(PositionsOf(to), p, 1e9);
        farthest = std::max(farthest, nearest.at.squared_distance);
      }
    }
  }
  return std::sqrt(farthest);
}

inline TriangleMesh SurfaceOf(const TetrahedralMesh& mesh) {
  return {mesh.vertices, ExtractBoundary(mesh).triangles};
}

inline double CalcHausdorffDistance(const TriangleMesh& a, const TriangleMesh& b, double spacing) {
  return std::max(CalcOneSidedDistance(a, b, spacing), CalcOneSidedDistance(b, a, spacing));
}

// Largest distance of points of the segment from a surface.
inline double CalcDistanceOfSegment(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                                    const TriangleMesh& to) {
  const TriangleBvh bvh(to.triangles, PositionsOf(to));
  double farthest = 0;
  for (int i = 0; i <= 100; ++i) {
    const auto nearest = bvh.FindNearest(PositionsOf(to), a + (b - a) * i / 100, 1e9);
    farthest = std::max(farthest, nearest.at.squared_distance);
  }
  return std::sqrt(farthest);
}

// Edges where a surface turns by more than `angle` [rad].
inline std::vector<std::array<Eigen::Vector3d, 2>> CollectSharpEdges(const TriangleMesh& mesh,
                                                                     double angle) {
  std::vector<std::array<Eigen::Vector3d, 2>> edges;
  const TriangleBvh bvh(mesh.triangles, PositionsOf(mesh));
  const double limit = CalcSinCos(angle).cos;
  for (const TriangleBvh::Edge& edge : bvh.edges()) {
    if (edge.triangles[1] < 0) continue;
    Eigen::Vector3d normals[2];
    for (int side = 0; side < 2; ++side) {
      const auto& t = mesh.triangles[edge.triangles[side]];
      normals[side] = (mesh.vertices[t[1]] - mesh.vertices[t[0]])
                          .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]])
                          .normalized();
    }
    if (normals[0].dot(normals[1]) < limit)
      edges.push_back({mesh.vertices[edge.vertices[0]], mesh.vertices[edge.vertices[1]]});
  }
  return edges;
}

// Largest distance of points of the sharp edges of `from` to the surface `to`, and to its edges
// that turn by more than 20°.
struct SharpEdgeDistance {
  double to_surface = 0, to_edges = 0;
};
inline SharpEdgeDistance CalcSharpEdgeDistance(const TriangleMesh& from, const TriangleMesh& to,
                                               double sharp_angle, double spacing) {
  SharpEdgeDistance farthest;
  const TriangleBvh bvh(to.triangles, PositionsOf(to));
  const auto kept = CollectSharpEdges(to, 20 * kPi / 180);
  for (const auto& [a, b] : CollectSharpEdges(from, sharp_angle)) {
    const int n = 1 + static_cast<int>((b - a).norm() / spacing);
    for (int i = 0; i <= n; ++i) {
      const Eigen::Vector3d p = a + (b - a) * i / n;
      const auto nearest = bvh.FindNearest(PositionsOf(to), p, 1e9);
      farthest.to_surface = std::max(farthest.to_surface, std::sqrt(nearest.at.squared_distance));
      double squared = 1e300;
      for (const auto& [c, d] : kept) {
        const double t = std::clamp((p - c).dot(d - c) / (d - c).squaredNorm(), 0.0, 1.0);
        squared = std::min(squared, (c + t * (d - c) - p).squaredNorm());
      }
      farthest.to_edges = std::max(farthest.to_edges, std::sqrt(squared));
    }
  }
  return farthest;
}

}  // namespace pliant::physics
