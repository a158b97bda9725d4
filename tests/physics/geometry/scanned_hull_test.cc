#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <Eigen/Geometry>
#include <gtest/gtest.h>

#include "physics/geometry/convex_hull.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Points of a smooth scan, in the single precision of an STL file.
std::vector<Vector3d> ScanEllipsoid(int count, const Vector3d& radii) {
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-52 - 1;
  };
  std::vector<Vector3d> points;
  while (static_cast<int>(points.size()) < count) {
    const Vector3d p(random(), random(), random());
    if (!(p.norm() > 0.1)) continue;
    points.push_back((p.normalized().cwiseProduct(radii)).cast<float>().cast<double>());
  }
  return points;
}

TEST(ScannedHull, SmoothScansOfThousandsOfPointsHaveOne) {
  for (const Vector3d& radii : {Vector3d(0.1, 0.1, 0.1), Vector3d(0.1, 0.05, 0.02)}) {
    for (const int count : {5223, 14412}) {
      const std::vector<Vector3d> points = ScanEllipsoid(count, radii);
      const auto hull = CalcConvexHull(points);
      ASSERT_TRUE(hull.ok()) << hull.status();
      // closed: each edge once in each direction
      std::map<std::pair<int, int>, int> edges;
      double outside = 0;
      for (const auto& t : hull->triangles) {
        for (int i = 0; i < 3; ++i) ++edges[{t[i], t[(i + 1) % 3]}];
        const Vector3d& a = hull->vertices[t[0]];
        const Vector3d u = hull->vertices[t[1]] - a, v = hull->vertices[t[2]] - a;
        const Vector3d normal = u.cross(v);
        // the direction of a sliver is lost in rounding
        if (normal.norm() < 1e-3 * std::max(u.squaredNorm(), v.squaredNorm())) continue;
        for (std::size_t i = 0; i < points.size(); i += 97)
          outside = std::max(outside, normal.normalized().dot(points[i] - a));
      }
      for (const auto& [edge, number] : edges) {
        EXPECT_EQ(number, 1);
        EXPECT_EQ(edges.count({edge.second, edge.first}), 1u);
      }
      // no point is farther outside than four tolerances, relative to the diagonal of 0.35 m
      EXPECT_LT(outside, 4 * kHullTolerance * 0.35);
    }
  }
}

}  // namespace
}  // namespace pliant::physics
