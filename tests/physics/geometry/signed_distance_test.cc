#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "physics/geometry/closest_points.h"
#include "tests/physics/geometry/sample_shapes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TEST(SignedDistance, GradientIsTheCentralDifference) {
  std::mt19937 random(1);
  const double delta = 1e-5;
  for (const NamedShape& shape : MakeSampleShapes()) {
    int checked = 0;
    for (int sample = 0; sample < 500; ++sample) {
      const Vector3d p = RandomPoint(&random, 1.2);
      const SignedDistance here = CalcSignedDistance(shape.geometry, p);
      Vector3d difference;
      bool is_smooth = true;
      for (int i = 0; i < 3; ++i) {
        const SignedDistance after =
            CalcSignedDistance(shape.geometry, p + delta * Vector3d::Unit(i));
        const SignedDistance before =
            CalcSignedDistance(shape.geometry, p - delta * Vector3d::Unit(i));
        difference[i] = (after.distance - before.distance) / (2 * delta);
        // skip samples across a crease of the distance
        is_smooth &= (after.gradient - before.gradient).norm() < 100 * delta;
      }
      if (!is_smooth) continue;
      ++checked;
      // the error is δ²/6 times third derivatives, below 1e4 for smooth samples, as their
      // curvatures stay below 20
      EXPECT_NEAR((difference - here.gradient).norm(), 0, 1e-6)
          << shape.name << " " << p.transpose();
    }
    EXPECT_GT(checked, 400) << shape.name;
  }
}

TEST(SignedDistance, NearestPointLiesOnTheSurfaceAtThatDistanceAlongTheGradient) {
  std::mt19937 random(2);
  for (const NamedShape& shape : MakeSampleShapes()) {
    for (int sample = 0; sample < 500; ++sample) {
      const Vector3d p = RandomPoint(&random, 1.2);
      const SignedDistance here = CalcSignedDistance(shape.geometry, p);
      EXPECT_NEAR(here.gradient.norm(), 1, 1e-14) << shape.name;
      EXPECT_NEAR((p - here.distance * here.gradient - here.nearest).norm(), 0, 1e-13)
          << shape.name;
      EXPECT_NEAR(CalcSignedDistance(shape.geometry, here.nearest).distance, 0, 1e-14)
          << shape.name;
    }
  }
}

TEST(SignedDistance, NoSurfacePointIsNearerThanTheNearest) {
  // spread points over each surface by projecting random ones onto it
  std::mt19937 random(3);
  for (const NamedShape& shape : MakeSampleShapes()) {
    std::vector<Vector3d> surface;
    for (int i = 0; i < 2000; ++i)
      surface.push_back(CalcSignedDistance(shape.geometry, RandomPoint(&random, 1.2)).nearest);
    for (int sample = 0; sample < 100; ++sample) {
      const Vector3d p = RandomPoint(&random, 1.2);
      const double distance = std::abs(CalcSignedDistance(shape.geometry, p).distance);
      for (const Vector3d& x : surface) ASSERT_GE((p - x).norm(), distance - 1e-13) << shape.name;
    }
  }
}

TEST(SignedDistance, EllipsoidIsSteadyOnItsAxesPlanesAndSurface) {
  for (const Vector3d& radii : {Vector3d(0.3, 0.5, 0.9), Vector3d(0.5, 0.5, 0.2),
                                Vector3d(0.4, 0.4, 0.4), Vector3d(1, 1e-3, 1)}) {
    const Ellipsoid shape{radii};
    const double least = radii.minCoeff();
    EXPECT_NEAR(CalcSignedDistance(shape, Vector3d::Zero()).distance, -least, 1e-16);
    for (int i = 0; i < 3; ++i) {
      for (double sign : {1.0, -1.0}) {
        const Vector3d tip = sign * radii[i] * Vector3d::Unit(i);
        EXPECT_NEAR(CalcSignedDistance(shape, tip).distance, 0, 1e-16);
        EXPECT_NEAR((CalcSignedDistance(shape, tip).gradient - sign * Vector3d::Unit(i)).norm(), 0,
                    1e-15);
        EXPECT_NEAR(CalcSignedDistance(shape, 3 * tip).distance, 2 * radii[i], 1e-15);
      }
    }
    // a tiny move off a plane of symmetry changes the distance by as little
    std::mt19937 random(4);
    for (int sample = 0; sample < 100; ++sample) {
      Vector3d p = RandomPoint(&random, 1).cwiseProduct(radii);
      for (int i = 0; i < 3; ++i) {
        p[i] = 0;
        const double on = CalcSignedDistance(shape, p).distance;
        p[i] = 1e-14;
        EXPECT_NEAR(CalcSignedDistance(shape, p).distance, on, 1e-13);
      }
    }
  }
}

TEST(SignedDistance, ConvexMeshAndSurfaceMeshOfABoxAgreeWithTheBox) {
  const Vector3d half(0.3, 0.5, 0.7);
  const TriangleMesh hull = MakeBoxHull(half);
  const ConvexMesh convex{std::make_shared<TriangleMesh>(hull)};
  const SurfaceMesh surface = MakeSurfaceMesh(hull);
  std::mt19937 random(5);
  for (int sample = 0; sample < 2000; ++sample) {
    const Vector3d p = RandomPoint(&random, 1);
    const double expected = CalcSignedDistance(Box{half}, p).distance;
    EXPECT_NEAR(CalcSignedDistance(convex, p).distance, expected, 1e-15);
    EXPECT_NEAR(CalcSignedDistance(surface, p).distance, expected, 1e-15);
  }
}

TEST(TriangleBvh, NearestIsThatOfAllTriangles) {
  const TriangleMesh mesh = MakeTorusSurface(0.7, 0.25, 30, 14);
  const TriangleBvh bvh(mesh);
  std::mt19937 random(6);
  for (int sample = 0; sample < 500; ++sample) {
    const Vector3d p = RandomPoint(&random, 1.5);
    int nearest = -1;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < bvh.num_triangles(); ++i) {
      const auto& t = mesh.triangles[i];
      const double here = FindClosestPointOnTriangle(p, mesh.vertices[t[0]], mesh.vertices[t[1]],
                                                     mesh.vertices[t[2]])
                              .squared_distance;
      if (here < best) {
        best = here;
        nearest = i;
      }
    }
    const TriangleBvh::Nearest found = bvh.FindNearest(PositionsOf(mesh), p, 10);
    EXPECT_EQ(found.at.squared_distance, best);
    EXPECT_EQ(found.triangle, nearest);
    EXPECT_EQ(bvh.FindNearest(PositionsOf(mesh), p, 0.999 * std::sqrt(best)).triangle, -1);
  }
}

TEST(TriangleBvh, SignTellsInsideOfATorusAlsoAtEdgesAndVertices) {
  const double ring = 0.7, tube = 0.25;
  const TriangleMesh mesh = MakeTorusSurface(ring, tube, 30, 14);
  const SurfaceMesh surface = MakeSurfaceMesh(mesh);
  // straight out of every vertex and edge midpoint, near and far
  const TriangleBvh& bvh = *surface.bvh;
  for (int i = 0; i < bvh.num_triangles(); ++i) {
    for (int k = 0; k < 3; ++k) {
      const Vector3d x = mesh.vertices[mesh.triangles[i][k]],
                     y = mesh.vertices[mesh.triangles[i][(k + 1) % 3]];
      for (double step : {1e-9, 1e-3, 2e-2}) {
        EXPECT_GT(CalcSignedDistance(surface, x + step * bvh.vertex_normal(i, k)).distance, 0);
        EXPECT_LT(CalcSignedDistance(surface, x - step * bvh.vertex_normal(i, k)).distance, 0);
        EXPECT_GT(
            CalcSignedDistance(surface, 0.5 * (x + y) + step * bvh.edge_normal(i, k)).distance, 0);
        EXPECT_LT(
            CalcSignedDistance(surface, 0.5 * (x + y) - step * bvh.edge_normal(i, k)).distance, 0);
      }
    }
  }
  // elsewhere: the exact torus, to within the sag of the chords
  const double sag = (ring + tube) * (1 - std::cos(kPi / 30)) + tube * (1 - std::cos(kPi / 14));
  std::mt19937 random(7);
  for (int sample = 0; sample < 2000; ++sample) {
    const Vector3d p = RandomPoint(&random, 1.2);
    const double rho = std::hypot(p.x(), p.y()) - ring, exact = std::hypot(rho, p.z()) - tube;
    EXPECT_NEAR(CalcSignedDistance(surface, p).distance, exact, sag);
  }
}

TEST(TriangleBvh, RefittedTreeAnswersAsANewOne) {
  TriangleMesh mesh = MakeTorusSurface(0.7, 0.25, 20, 10);
  TriangleBvh refitted(mesh.triangles, PositionsOf(mesh));
  for (Vector3d& p : mesh.vertices)
    p = Vector3d(p.x() + 0.3 * p.y(), 0.7 * p.y(), p.z() + p.x() * p.x());
  refitted.Refit(PositionsOf(mesh));
  refitted.UpdateNormals(PositionsOf(mesh));
  const TriangleBvh built(mesh);
  std::mt19937 random(8);
  for (int sample = 0; sample < 300; ++sample) {
    const Vector3d p = RandomPoint(&random, 1.5);
    const TriangleBvh::Nearest a = refitted.FindNearest(PositionsOf(mesh), p, 10);
    const TriangleBvh::Nearest b = built.FindNearest(PositionsOf(mesh), p, 10);
    EXPECT_EQ(a.triangle, b.triangle);
    EXPECT_EQ(a.at.squared_distance, b.at.squared_distance);
    AxisAlignedBox box{p, p};
    box.Grow(0.1);
    std::vector<int> met;
    refitted.VisitOverlaps(box, [&](int i) { met.push_back(i); });
    for (int i = 0; i < built.num_triangles(); ++i) {
      AxisAlignedBox own;
      for (int v : mesh.triangles[i]) own.Include(mesh.vertices[v]);
      if (own.Overlaps(box)) {
        EXPECT_EQ(std::count(met.begin(), met.end(), i), 1);
      }
    }
  }
}

TEST(ClosestPoints, OfSegmentsAreNearerThanAnySampledPair) {
  std::mt19937 random(9);
  for (int sample = 0; sample < 200; ++sample) {
    const Vector3d a0 = RandomPoint(&random, 1),
                   a1 = sample % 5 == 0 ? a0 : RandomPoint(&random, 1);
    const Vector3d b0 = RandomPoint(&random, 1),
                   b1 = sample % 3 == 0 ? Vector3d(b0 + a1 - a0) : RandomPoint(&random, 1);
    const SegmentPoints at = FindClosestPointsOfSegments(a0, a1, b0, b1);
    const double distance = (at.a - at.b).norm();
    EXPECT_NEAR((a0 + at.s * (a1 - a0) - at.a).norm(), 0, 1e-15);
    for (int i = 0; i <= 20; ++i)
      for (int j = 0; j <= 20; ++j)
        ASSERT_GE((a0 + i / 20.0 * (a1 - a0) - b0 - j / 20.0 * (b1 - b0)).norm(), distance - 1e-14);
  }
}

}  // namespace
}  // namespace pliant::physics
