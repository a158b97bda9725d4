#include "physics/geometry/convex_distance.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "physics/geometry/convex_hull.h"
#include "tests/physics/geometry/sample_shapes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

struct Bodies {
  ConvexPolyhedron box = MakeBoxPolyhedron({0.3, 0.5, 0.7});
  ConvexPolyhedron octahedron = MakeHullPolyhedron(MakeOctahedron({0.5, 0.6, 0.8}));
  std::vector<ConvexBody> all;

  Bodies() {
    using Kind = ConvexBody::Kind;
    all.push_back({.kind = Kind::kPolyhedron, .polyhedron = &box, .X_WS = {}, .extent = 0.911});
    all.push_back(
        {.kind = Kind::kPolyhedron, .polyhedron = &octahedron, .X_WS = {}, .extent = 0.8});
    all.push_back({.kind = Kind::kCylinder, .size = {0.4, 0.4, 0.45}, .X_WS = {}, .extent = 0.602});
    all.push_back({.kind = Kind::kEllipsoid, .size = {0.3, 0.5, 0.9}, .X_WS = {}, .extent = 0.9});
    all.push_back({.kind = Kind::kSegment, .size = {0, 0, 0.4}, .X_WS = {}, .extent = 0.4});
  }
};

RigidTransform RandomPose(std::mt19937* random, double reach) {
  RigidTransform X;
  X.R = RotationFromVector(RandomPoint(random, 3)).toRotationMatrix();
  X.p = RandomPoint(random, reach);
  return X;
}

TEST(ConvexPolyhedron, HullOfABoxHasSixFacesOfFourVertices) {
  const ConvexPolyhedron box = MakeHullPolyhedron(MakeBoxHull({0.3, 0.5, 0.7}));
  ASSERT_EQ(box.num_faces(), 6);
  for (int f = 0; f < 6; ++f) {
    ASSERT_EQ(box.face(f).size(), 4u);
    for (int k = 0; k < 4; ++k) {
      const Vector3d a = box.vertices[box.face(f)[k]], b = box.vertices[box.face(f)[(k + 1) % 4]],
                     c = box.vertices[box.face(f)[(k + 2) % 4]];
      EXPECT_GT((b - a).cross(c - b).dot(box.normals[f]), 0);
      EXPECT_GT(box.normals[f].dot(a), 0);
    }
  }
}

TEST(ConvexPolyhedron, ClimbingFindsTheFurthestVertex) {
  std::mt19937 random(7);
  // random points, and a bevelled box with many of its vertices in six planes
  std::vector<Vector3d> cloud, bevelled;
  for (int i = 0; i < 2000; ++i) {
    cloud.push_back(RandomPoint(&random, 1).normalized().cwiseProduct(Vector3d(0.3, 1, 2)));
    bevelled.push_back(0.1 * RandomPoint(&random, 1).normalized() +
                       Vector3d(i & 1 ? 1 : -1, i & 2 ? 0.5 : -0.5, i & 4 ? 0.1 : -0.1));
  }
  for (const std::vector<Vector3d>& points : {cloud, bevelled}) {
    const auto hull = CalcConvexHull(points);
    ASSERT_TRUE(hull.ok()) << hull.status();
    const ConvexPolyhedron polyhedron = MakeHullPolyhedron(*hull);
    ASSERT_GT(polyhedron.vertices.size(), 100u);
    EXPECT_FALSE(polyhedron.seeds.empty());
    for (int i = 0; i < 3000; ++i) {
      // also along axes, at the edges of the cells
      const Vector3d d =
          i < 6 ? Vector3d((i % 2 == 0 ? 1 : -1) * Vector3d::Unit(i / 2)) : RandomPoint(&random, 1);
      double furthest = -1e9;
      for (const Vector3d& v : polyhedron.vertices) furthest = std::max(furthest, v.dot(d));
      EXPECT_NEAR(polyhedron.vertices[polyhedron.FindSupport(d)].dot(d), furthest, 1e-14) << i;
    }
    const int any = polyhedron.FindSupport(Vector3d::Zero());
    EXPECT_GE(any, 0);
    EXPECT_LT(any, static_cast<int>(polyhedron.vertices.size()));
  }
}

TEST(ConvexDistance, NoDirectionSeparatesMore) {
  Bodies bodies;
  std::mt19937 random(21);
  int num_overlapping = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    ConvexBody a = bodies.all[sample % 5], b = bodies.all[sample / 5 % 5];
    a.X_WS = RandomPose(&random, 0.6);
    b.X_WS = RandomPose(&random, 0.6);
    const ConvexDistance d = CalcConvexDistance(a, b, 10);
    num_overlapping += d.separation < 0;
    EXPECT_NEAR(d.nhat_AB_W.norm(), 1, 1e-12);
    // the reported separation is that along the reported direction
    EXPECT_NEAR(CalcSeparation(a, b, d.nhat_AB_W), d.separation, 1e-12) << sample;
    // the points lie that far apart; on curved surfaces, with radii of curvature below 3, they move
    // with the root of the depth's tolerance, which is 1e-10
    EXPECT_NEAR((d.p_B - d.p_A - d.separation * d.nhat_AB_W).norm(), 0, 5e-5) << sample;
    // no other direction, near or far, separates more
    for (int trial = 0; trial < 200; ++trial) {
      const double spread = trial < 100 ? 2 : 0.05;
      const Vector3d n =
          ((trial < 100 ? Vector3d::Zero() : d.nhat_AB_W) + RandomPoint(&random, spread))
              .normalized();
      ASSERT_LE(CalcSeparation(a, b, n), d.separation + 1e-9) << sample;
    }
  }
  EXPECT_GT(num_overlapping, 300);
}

// A table's leg lies across the edge of another table's top. Two triangles of the polytope are
// equally low there, and the touching points are on one of them; rounding must not select the
// other, as it once did for one in ten thousand perturbations.
TEST(ConvexDistance, CrossedEdgesTouchWhereTheyCross) {
  const ConvexPolyhedron leg = MakeBoxPolyhedron({0.0225, 0.0225, 0.21});
  const ConvexPolyhedron top = MakeBoxPolyhedron({0.35, 0.25, 0.015});
  using Kind = ConvexBody::Kind;
  ConvexBody a{.kind = Kind::kPolyhedron, .polyhedron = &leg, .X_WS = {}, .extent = 0.2124};
  ConvexBody b{.kind = Kind::kPolyhedron, .polyhedron = &top, .X_WS = {}, .extent = 0.4304};
  const auto placed = [](const Vector3d& p, const Eigen::Quaterniond& q, const Vector3d& center) {
    const Eigen::Matrix3d R = q.normalized().toRotationMatrix();
    return RigidTransform{R, p + R * center};
  };
  a.X_WS = placed({0.19393055872822873, 0.728036696447683, 0.7793718850611797},
                  {0.20571308463415539, 0.2996854150154672, 0.5540325141304595, 0.748945092863015},
                  {-0.3275, -0.2275, -0.24});
  b.X_WS = placed(
      {0.25562384708045227, 0.030423225627953427, 0.4499931673421998},
      {0.9972710244073077, -7.290923199440655e-06, 4.206074685986395e-06, 0.07382752743218787},
      {0, 0, -0.015});
  const ConvexDistance first = CalcConvexDistance(a, b, 0.002);
  EXPECT_LT(first.separation, 0);
  std::mt19937 random(23);
  for (int sample = 0; sample < 30000; ++sample) {
    ConvexBody moved = a;
    moved.X_WS.p += RandomPoint(&random, 2e-16);
    moved.X_WS.R = RotationFromVector(RandomPoint(&random, 2e-16)).toRotationMatrix() * a.X_WS.R;
    const ConvexDistance d = CalcConvexDistance(moved, b, 0.002);
    // the points move by the rounding of the poses over the depth, which is 2e-5
    ASSERT_LT((d.p_A - first.p_A).norm(), 1e-8) << sample;
    ASSERT_LT((d.p_B - first.p_B).norm(), 1e-8) << sample;
  }
}

TEST(ConvexDistance, PassesThroughTouchingWithoutAJump) {
  // the distance changes no faster than the bodies move, whether GJK or EPA computes it
  Bodies bodies;
  std::mt19937 random(22);
  for (int sample = 0; sample < 200; ++sample) {
    ConvexBody a = bodies.all[sample % 4], b = bodies.all[sample / 4 % 5];
    a.X_WS = RandomPose(&random, 0);
    b.X_WS = RandomPose(&random, 0);
    const Vector3d direction = RandomPoint(&random, 1).normalized();
    // bisect for the touching distance
    double near = 0, far = 3;
    for (int i = 0; i < 100; ++i) {
      const double middle = 0.5 * (near + far);
      b.X_WS.p = middle * direction;
      (CalcConvexDistance(a, b, 10).separation < 0 ? near : far) = middle;
    }
    for (double step : {0.0, 1e-13, 1e-11, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4}) {
      for (double sign : {1.0, -1.0}) {
        b.X_WS.p = (far + sign * step) * direction;
        const ConvexDistance d = CalcConvexDistance(a, b, 10);
        EXPECT_LE(std::abs(d.separation), step + 1e-8) << sample << " " << sign * step;
        EXPECT_GE(CalcSeparation(a, b, d.nhat_AB_W), -step - 1e-8) << sample << " " << sign * step;
      }
    }
  }
}

}  // namespace
}  // namespace pliant::physics
