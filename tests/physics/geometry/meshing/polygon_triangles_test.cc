#include "physics/geometry/meshing/polygon_triangles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Sum of the triangles' areas along the polygon's normal; the other one counts their sizes.
struct Areas {
  double along = 0, sizes = 0;
};

Areas Measure(const std::vector<Vector3d>& corners, const Vector3d& normal) {
  std::vector<std::array<int, 3>> triangles;
  CutPolygon(corners, &triangles);
  EXPECT_EQ(triangles.size() + 2, corners.size());
  Areas areas;
  for (const auto& [a, b, c] : triangles) {
    const Vector3d doubled = (corners[b] - corners[a]).cross(corners[c] - corners[a]);
    areas.along += 0.5 * doubled.dot(normal.normalized());
    areas.sizes += 0.5 * doubled.norm();
  }
  return areas;
}

// Turns a polygon so that it begins with each of its corners once, in a tilted plane.
void ExpectArea(const std::vector<std::array<double, 2>>& polygon, double area) {
  const Vector3d u = Vector3d(1, 2, -0.5).normalized(),
                 v = (Vector3d(0, 1, 3) - u * u.dot(Vector3d(0, 1, 3))).normalized();
  for (std::size_t first = 0; first < polygon.size(); ++first) {
    std::vector<Vector3d> corners;
    for (std::size_t i = 0; i < polygon.size(); ++i) {
      const auto& [x, y] = polygon[(first + i) % polygon.size()];
      corners.push_back(x * u + y * v);
    }
    const Areas areas = Measure(corners, u.cross(v));
    EXPECT_NEAR(areas.along, area, 1e-12) << first;
    EXPECT_NEAR(areas.sizes, area, 1e-12) << first;
    std::reverse(corners.begin(), corners.end());
    EXPECT_NEAR(Measure(corners, -u.cross(v)).along, area, 1e-12) << first;
  }
}

TEST(CutPolygon, TrianglesCoverItOnce) {
  ExpectArea({{0, 0}, {1, 0}, {0, 1}}, 0.5);
  ExpectArea({{0, 0}, {2, 0}, {2, 1}, {0, 1}}, 2);
  ExpectArea({{0, 0}, {3, 0}, {3, 1}, {1, 1}, {1, 2}, {3, 2}, {3, 3}, {0, 3}}, 7);  // a U
  // with a corner in the middle of an edge, and with a hole that a cut opens
  ExpectArea({{0, 0}, {1, 0}, {2, 0}, {2, 2}, {1, 1}, {0, 2}}, 3);
  ExpectArea({{0, 0}, {3, 0}, {3, 3}, {0, 3}, {0, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}}, 8);
  std::vector<std::array<double, 2>> star;
  for (int i = 0; i < 20; ++i) {
    const double radius = i % 2 == 0 ? 1 : 0.3, angle = 2 * M_PI * i / 20;
    star.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  ExpectArea(star, 10 * 0.3 * std::sin(M_PI / 10));
}

TEST(CutPolygon, AConvexOneIsAFan) {
  std::vector<std::array<int, 3>> triangles;
  CutPolygon(std::vector<Vector3d>{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, &triangles);
  EXPECT_EQ(triangles, (std::vector<std::array<int, 3>>{{0, 1, 2}, {0, 2, 3}}));
}

TEST(CutPolygon, AQuadrilateralIsCutAlongItsShorterDiagonal) {
  using Triangles = std::vector<std::array<int, 3>>;
  Triangles triangles;
  const std::vector<Vector3d> kite{{0, 0, 0}, {1, -0.3, 0.1}, {2, 0, 0}, {1, 0.3, 0.1}};
  EXPECT_TRUE(CutPolygon(kite, &triangles));
  EXPECT_EQ(triangles, (Triangles{{0, 1, 3}, {1, 2, 3}}));
  const std::vector<Vector3d> turned{kite[1], kite[2], kite[3], kite[0]};
  EXPECT_TRUE(CutPolygon(turned, &triangles));
  EXPECT_EQ(triangles, (Triangles{{0, 1, 2}, {0, 2, 3}}));
}

TEST(CutPolygon, AnyCornersEnd) {
  std::vector<std::array<int, 3>> triangles;
  // one that crosses itself, one without an area, and none
  CutPolygon(std::vector<Vector3d>{{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}}, &triangles);
  EXPECT_EQ(triangles.size(), 2u);
  CutPolygon(std::vector<Vector3d>(7, Vector3d(1, 2, 3)), &triangles);
  EXPECT_EQ(triangles.size(), 5u);
  CutPolygon(std::vector<Vector3d>{{1e200, 0, 0}, {0, 1e200, 0}, {0, 0, 1e200}, {1, 1, 1}},
             &triangles);
  EXPECT_EQ(triangles.size(), 2u);
  CutPolygon(std::vector<Vector3d>{{1, 0, 0}}, &triangles);
  EXPECT_TRUE(triangles.empty());
}

}  // namespace
}  // namespace pliant::physics
