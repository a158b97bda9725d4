#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <Eigen/Geometry>

#include "physics/geometry/convex_hull.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

// Points uniform in [−1, 1)³, the same on every machine.
std::vector<Vector3d> MakeCloud(int count, std::uint64_t seed) {
  std::vector<Vector3d> points(count);
  std::uint64_t state = seed;
  for (Vector3d& p : points) {
    for (int axis = 0; axis < 3; ++axis) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      p[axis] = static_cast<double>(state >> 11) * 0x1p-52 - 1;
    }
  }
  return points;
}

double CalcEnclosedVolume(const TriangleMesh& mesh) {
  double volume = 0;
  for (const auto& t : mesh.triangles)
    volume += mesh.vertices[t[0]].dot(mesh.vertices[t[1]].cross(mesh.vertices[t[2]])) / 6;
  return volume;
}

// Expects a closed, outward-facing hull with every point behind every face to twice the tolerance.
void ExpectHull(const TriangleMesh& hull, const std::vector<Vector3d>& points, double size) {
  std::map<std::pair<int, int>, int> edges;
  for (const auto& t : hull.triangles) {
    for (int i = 0; i < 3; ++i) ++edges[{t[i], t[(i + 1) % 3]}];
  }
  for (const auto& [edge, count] : edges) {
    ASSERT_EQ(count, 1);
    ASSERT_EQ(edges.count({edge.second, edge.first}), 1u);
  }
  EXPECT_EQ(hull.vertices.size() + hull.triangles.size(), edges.size() / 2 + 2);
  double farthest = 0;
  for (const auto& t : hull.triangles) {
    const Vector3d& a = hull.vertices[t[0]];
    const Vector3d normal = (hull.vertices[t[1]] - a).cross(hull.vertices[t[2]] - a).normalized();
    for (const Vector3d& p : points) farthest = std::max(farthest, normal.dot(p - a));
  }
  EXPECT_LE(farthest, 2 * kHullTolerance * size);
}

TEST(ConvexHullMesh, OfGridPointsHasTheCornersOnly) {
  std::vector<Vector3d> points;
  for (int i = 0; i < 1000; ++i) points.emplace_back(i % 10, i / 10 % 10, i / 100);
  const TriangleMesh hull = *CalcConvexHull(points);
  EXPECT_EQ(hull.vertices.size(), 8u);
  EXPECT_EQ(hull.triangles.size(), 12u);
  EXPECT_NEAR(CalcEnclosedVolume(hull), 729, 1e-10);
  ExpectHull(hull, points, 16);
}

TEST(ConvexHullMesh, HoldsEveryPointOfACloud) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::vector<Vector3d> points = MakeCloud(500, seed);
    ExpectHull(*CalcConvexHull(points), points, 2 * std::sqrt(3.0));
  }
}

TEST(ConvexHullMesh, OfASphereKeepsEveryPointOnIt) {
  const TetrahedralMesh ball = *MeshSphere(1, 0.1);
  const TriangleMesh hull = *CalcConvexHull(ball.vertices);
  EXPECT_EQ(hull.vertices.size(), ExtractBoundary(ball).vertices.size());
  ExpectHull(hull, ball.vertices, 2);
}

TEST(ConvexHullMesh, OfACylinderWithCoplanarEndsIsItsOwnShape) {
  const TetrahedralMesh cylinder = *MeshCylinder(0.5, 1, 0.1);
  const TriangleMesh hull = *CalcConvexHull(cylinder.vertices);
  EXPECT_EQ(hull.vertices.size(), 60u);
  EXPECT_NEAR(CalcEnclosedVolume(hull), CalcVolume(cylinder), 1e-12);
  ExpectHull(hull, cylinder.vertices, 1.5);
}

// The largest distance of a point outside of a face. Slivers are left out: rounding turns them.
double CalcFarthestOutside(const TriangleMesh& hull, const std::vector<Vector3d>& points) {
  double farthest = 0;
  for (const auto& t : hull.triangles) {
    const Vector3d& a = hull.vertices[t[0]];
    const Vector3d u = hull.vertices[t[1]] - a, v = hull.vertices[t[2]] - a, normal = u.cross(v);
    if (normal.norm() < 1e-3 * std::max(u.squaredNorm(), v.squaredNorm())) continue;
    for (const Vector3d& p : points) farthest = std::max(farthest, normal.normalized().dot(p - a));
  }
  return farthest;
}

TEST(ConvexHullMesh, HoldsPointsOfRoundedRimsAndBalls) {
  // in the single precision of a scan; all points lie on the hull, nearly on a plane with others
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::vector<Vector3d> ball, frustum;
    for (const Vector3d& p : MakeCloud(600, seed)) {
      if (!(p.norm() > 0.1) || !(p.head<2>().norm() > 0.1)) continue;
      ball.push_back(Vector3d(2, 1, 0.3).cwiseProduct(p.normalized()));
      const double end = p.z() > 0 ? 1 : -1;
      frustum.emplace_back(0, 0, 0.2 * end);
      frustum.back().head<2>() = (1 + 0.3 * end) * p.head<2>().normalized();
    }
    for (std::vector<Vector3d>* points : {&ball, &frustum}) {
      const Eigen::Matrix3d R = Eigen::AngleAxisd(0.7, ball[0].normalized()).toRotationMatrix();
      for (Vector3d& p : *points) p = (R * p).cast<float>().cast<double>();
      const auto hull = CalcConvexHull(*points);
      ASSERT_TRUE(hull.ok()) << hull.status();
      EXPECT_LE(CalcFarthestOutside(*hull, *points), 2 * kHullTolerance * 4);
      EXPECT_GE(hull->vertices.size(), 0.9 * points->size());
    }
  }
}

TEST(ConvexHullMesh, IsRobustToRoundingTurningAndRepetition) {
  // grid points of boxes, rotated, rounded to single precision, and given twice
  for (int seed = 0; seed < 40; ++seed) {
    const Vector3d axis = MakeCloud(2, seed)[1].normalized();
    const Eigen::Matrix3d R = Eigen::AngleAxisd(0.1 * seed, axis).toRotationMatrix();
    std::vector<Vector3d> points;
    for (int i = 0; i < 2 * 6 * 6 * 6; ++i) {
      const Vector3d p = R * Vector3d(i % 6, 0.2 * (i / 6 % 6), 0.01 * (i / 36 % 6));
      points.push_back(p.cast<float>().cast<double>());
    }
    const auto hull = CalcConvexHull(points);
    ASSERT_TRUE(hull.ok()) << hull.status();
    ExpectHull(*hull, points, 5.2);
    EXPECT_NEAR(CalcEnclosedVolume(*hull), 5 * 1 * 0.05,
                12 * 2 * kHullTolerance * 5.2);  // area times twice the tolerance
  }
}

TEST(ConvexHullMesh, RefusesWhatHasNoVolume) {
  const auto message = [](const std::vector<Vector3d>& points) {
    const auto hull = CalcConvexHull(points);
    EXPECT_EQ(hull.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(hull.status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("0 points"));
  EXPECT_THAT(message(std::vector<Vector3d>(9, Vector3d(1, 2, 3))), HasSubstr("no volume"));
  std::vector<Vector3d> flat = MakeCloud(50, 5);
  for (Vector3d& p : flat) p.z() = p.x() + p.y();
  EXPECT_THAT(message(flat), HasSubstr("lie in a plane"));
  flat[7].x() = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message(flat), HasSubstr("point 7 is not finite"));
}

}  // namespace
}  // namespace pliant::physics
