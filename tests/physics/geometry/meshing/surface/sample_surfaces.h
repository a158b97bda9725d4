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

}  // namespace pliant::physics
