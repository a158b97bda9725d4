#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "physics/geometry/convex_distance.h"
#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kDegree = kPi / 180;

struct NamedGround {
  const char* name;
  Geometry geometry;
  double offset;
};

TEST(RigidRigid, CubeOnInclinedBoxHasFourEqualGapsAndTheFaceNormal) {
  for (double gap : {1.5e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-6, -1e-3}) {
    for (double degrees : {0.0, 10.0, 26.0, 77.0}) {
      ContactWorld world;
      const RigidTransform X_WSlope = Posed({0.3, -0.2, 0.1}, {0, degrees * kDegree, 0});
      world.AddRigid(Box{{1, 1, 0.05}}, X_WSlope, Motion::kFixed);
      world.AddRigid(Box{{0.05, 0.05, 0.05}}, X_WSlope * At(0.1, 0.2, 0.1 + gap));
      const auto contacts = world.Detect();
      ASSERT_EQ(contacts.size(), 4u) << degrees << " " << gap;
      for (const ContactPoint& point : contacts) {
        EXPECT_NEAR(point.gap, gap, 1e-15 + 4e-16);
        EXPECT_EQ(Normal(point), X_WSlope.R.col(2));
        const Vector3d p = X_WSlope.Inverse() * point.p_W;
        EXPECT_NEAR(std::abs(p.x() - 0.1), 0.05, 1e-12);
        EXPECT_NEAR(std::abs(p.y() - 0.2), 0.05, 1e-12);
        EXPECT_NEAR(p.z(), 0.05 + 0.5 * gap, 1e-12);
      }
    }
  }
}

TEST(RigidRigid, CubeOnInclinedHalfSpaceHasFourEqualGapsAndItsNormal) {
  for (double gap : {1.9e-3, 0.0, -1e-3}) {
    ContactWorld world;
    const RigidTransform X_WSlope = Posed({0, 0, 0.4}, {0.3, 0.2, 0});
    world.AddRigid(HalfSpace{}, X_WSlope, Motion::kFixed);
    world.AddRigid(Box{{0.05, 0.06, 0.07}}, X_WSlope * At(0.1, 0.2, 0.07 + gap));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 4u);
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR(point.gap, gap, 1e-15);
      EXPECT_EQ(Normal(point), X_WSlope.R.col(2));
    }
  }
}

// Smallest gap, and number of contacts within 0.1 mm of it.
struct Summary {
  double gap = 1e300;
  int count = 0;
};
Summary Summarize(const std::vector<ContactPoint>& contacts) {
  Summary summary;
  for (const ContactPoint& point : contacts) summary.gap = std::min(summary.gap, point.gap);
  for (const ContactPoint& point : contacts) summary.count += point.gap < summary.gap + 1e-4;
  return summary;
}

TriangleMesh MakeWedge() {
  TriangleMesh mesh = MakeBoxSurface({0.1, 0.1, 0.1}, 1);
  for (Vector3d& p : mesh.vertices)
    if (p.z() > 0) p.x() *= 0.5;
  return mesh;
}

struct Resting {
  const char* name;
  Geometry geometry;
  Vector3d rotation;
  double height;  // of the origin over the plane when touching [m]
  int count;
};

std::vector<Resting> MakeRestingShapes() {
  const double quarter = kPi / 2;
  return {{"sphere", Sphere{0.05}, {0.3, 0.2, 0.1}, 0.05, 1},
          {"box", Box{{0.02, 0.03, 0.04}}, {0, 0, 0.4}, 0.04, 4},
          {"box on its side", Box{{0.02, 0.03, 0.04}}, {0, quarter, 0}, 0.02, 4},
          {"box on an edge", Box{{0.03, 0.05, 0.03}}, {0, kPi / 4, 0}, 0.03 * std::sqrt(2), 2},
          {"standing capsule", Capsule{0.02, 0.1}, {0, 0, 0}, 0.07, 1},
          {"lying capsule", Capsule{0.02, 0.1}, {quarter, 0, 0}, 0.02, 2},
          {"standing cylinder", Cylinder{0.03, 0.1}, {0, 0, 0}, 0.05, 8},
          {"standing on its head", Cylinder{0.03, 0.1}, {kPi, 0, 0}, 0.05, 8},
          {"lying cylinder", Cylinder{0.03, 0.1}, {quarter, 0, 0}, 0.03, 2},
          {"cylinder on its rim",
           Cylinder{0.03, 0.1},
           {kPi / 6, 0, 0},
           0.05 * std::cos(kPi / 6) + 0.03 * std::sin(kPi / 6),
           1},
          {"ellipsoid", Ellipsoid{{0.03, 0.04, 0.05}}, {quarter, 0, 0}, 0.04, 1},
          {"convex mesh",
           ConvexMesh{std::make_shared<TriangleMesh>(MakeWedge())},
           {0, 0, 0.3},
           0.05,
           4}};
}

TEST(RigidRigid, EveryShapeRestsOnBoxHalfSpaceAndMeshWithItsOwnPoints) {
  const TriangleMesh ground_mesh = MakeBoxSurface({2, 2, 0.2}, 3);
  const std::vector<NamedGround> grounds = {
      {"half-space", HalfSpace{}, 0},
      {"box", Box{{1, 1, 0.1}}, -0.1},
      {"convex mesh", ConvexMesh{std::make_shared<TriangleMesh>(ground_mesh)}, -0.1},
      {"mesh",
       SurfaceMesh{std::make_shared<TriangleMesh>(ground_mesh),
                   std::make_shared<TriangleBvh>(ground_mesh)},
       -0.1}};
  for (const NamedGround& ground : grounds) {
    for (const Resting& shape : MakeRestingShapes()) {
      for (double gap : {1.5e-3, 1e-5, 1e-7, 1e-10, 0.0, -1e-10, -1e-7, -1e-5, -1e-3}) {
        ContactWorld world;
        const RigidTransform X_WG = Posed({0.1, 0.2, 0.3}, {0.2, -0.3, 0.1});
        world.AddRigid(ground.geometry, X_WG * At(0, 0, ground.offset), Motion::kFixed);
        world.AddRigid(shape.geometry,
                       X_WG * Posed({0.03, 0.07, shape.height + gap}, shape.rotation));
        const auto contacts = world.Detect();
        const Summary summary = Summarize(contacts);
        EXPECT_EQ(summary.count, shape.count) << shape.name << " on " << ground.name << " " << gap;
        EXPECT_NEAR(summary.gap, gap, 1e-14) << shape.name << " on " << ground.name << " " << gap;
        for (const ContactPoint& point : contacts) {
          EXPECT_NEAR((Normal(point) - X_WG.R.col(2)).norm(), 0, 1e-14)
              << shape.name << " on " << ground.name;
          // the surfaces lie half a gap to each side of the point
          EXPECT_NEAR((X_WG.Inverse() * point.p_W).z(), 0.5 * point.gap, 1e-14) << shape.name;
        }
      }
    }
  }
}

TEST(RigidRigid, GapFollowsASmallMotionThroughTouching) {
  // moved apart along the normal by δ, the smallest gap grows by δ
  const std::vector<Resting> shapes = MakeRestingShapes();
  for (const Resting& a : shapes) {
    for (const Resting& b : shapes) {
      double last = 0;
      bool has_last = false;
      for (double gap = -2e-4; gap < 1.8e-3; gap += 2e-5) {
        ContactWorld world;
        world.AddRigid(a.geometry, Posed({0, 0, -a.height}, Vector3d(a.rotation.x() + kPi, 0, 0)));
        world.AddRigid(b.geometry, Posed({0.001, 0.002, b.height + gap}, b.rotation));
        const auto contacts = world.Detect();
        if (contacts.empty()) {
          EXPECT_FALSE(has_last) << a.name << " " << b.name << " " << gap;
          continue;
        }
        const double here = Summarize(contacts).gap;
        if (has_last) {
          EXPECT_NEAR(here - last, 2e-5, 2.1e-5) << a.name << " " << b.name << " " << gap;
        }
        last = here;
        has_last = true;
      }
    }
  }
}

TEST(RigidRigid, BoxCornerOnFaceTouchesInOnePointWithTheFaceNormal) {
  for (double gap : {1e-3, 1e-8, 0.0, -1e-8, -1e-3}) {
    ContactWorld world;
    world.AddRigid(Box{{0.5, 0.5, 0.1}}, At(0, 0, -0.1));
    // stand the cube on a corner
    const Eigen::Matrix3d R =
        Eigen::Quaterniond::FromTwoVectors(Vector3d(1, 1, 1).normalized(), Vector3d::UnitZ())
            .toRotationMatrix();
    world.AddRigid(Box{{0.05, 0.05, 0.05}}, {R, {0.1, 0.05, 0.05 * std::sqrt(3) + gap}});
    const auto contacts = world.Detect();
    ASSERT_EQ(Summarize(contacts).count, 1) << gap;
    EXPECT_EQ(Normal(contacts[0]), Vector3d::UnitZ());
    EXPECT_NEAR(Summarize(contacts).gap, gap, 1e-14);
  }
}

TEST(RigidRigid, CrossedBoxEdgesTouchInOnePointAlongTheirCommonNormal) {
  for (double gap : {1e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-6, -1e-3}) {
    ContactWorld world;
    const double half = 0.01 * std::sqrt(2);
    world.AddRigid(Box{{0.1, 0.01, 0.01}}, Posed({0.013, 0, 0}, {kPi / 4, 0, 0}));
    world.AddRigid(Box{{0.01, 0.1, 0.01}}, Posed({0, 0.017, 2 * half + gap}, {0, kPi / 4, 0}));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u) << gap;
    EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-12) << gap;
    EXPECT_NEAR(contacts[0].gap, gap, 1e-12);
    EXPECT_NEAR((contacts[0].p_W - Vector3d(0, 0, half + 0.5 * gap)).norm(), 0, 1e-9);
  }
}

// A bar that rests on the edge of another touches with a key of its own at each of its edges, so
// that a known contact at one of them does not stand for another that closes in the step.
TEST(RigidRigid, EveryPairOfCrossedEdgesHasItsKey) {
  const auto key_at = [](double along, double turn) {
    ContactWorld world;
    const double half = 0.01 * std::sqrt(2);
    world.AddRigid(Box{{0.1, 0.01, 0.01}}, Posed({along, 0, 0}, {kPi / 4, 0, 0}));
    world.AddRigid(Box{{0.01, 0.1, 0.01}}, Posed({0, 0.017, 2 * half}, {0, kPi / 4 + turn, 0}));
    const auto contacts = world.Detect();
    EXPECT_EQ(contacts.size(), 1u);
    return contacts.empty() ? 0 : contacts[0].key;
  };
  const std::uint64_t key = key_at(0, 0);
  EXPECT_EQ(key_at(0.02, 0), key);
  EXPECT_EQ(key_at(-0.03, 0.1), key);
  std::set<std::uint64_t> keys;
  for (int k = 0; k < 4; ++k) keys.insert(key_at(0, k * kPi / 2));
  EXPECT_EQ(keys.size(), 4u);
}

// For random boxes with a single contact, the contact lies midway between their closest or deepest
// points, as given by the distance of any two convex bodies.
TEST(RigidRigid, EdgesOfBoxesTouchWhereTheGeneralDistanceSays) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] { return Vector3d(uniform(random), uniform(random), uniform(random)); };
  int apart = 0, overlapping = 0;
  for (int k = 0; k < 4000; ++k) {
    const Box a{Vector3d(0.1, 0.2, 0.15)}, b{Vector3d(0.12, 0.1, 0.2)};
    const RigidTransform X_WA{RotationFromVector(3 * vector()).toRotationMatrix(), vector()};
    const RigidTransform X_WB{RotationFromVector(3 * vector()).toRotationMatrix(),
                              X_WA.p + 0.3 * vector()};
    ContactWorld world;
    world.AddRigid(a, X_WA);
    world.AddRigid(b, X_WB);
    const auto contacts = world.Detect();
    if (contacts.size() != 1) continue;
    const ConvexPolyhedron of_a = MakeBoxPolyhedron(a.half_size),
                           of_b = MakeBoxPolyhedron(b.half_size);
    const auto body = [](const ConvexPolyhedron& polyhedron, const RigidTransform& X) {
      return ConvexBody{.kind = ConvexBody::Kind::kPolyhedron,
                        .polyhedron = &polyhedron,
                        .X_WS = X,
                        .extent = 0.27};
    };
    const ConvexDistance exact = CalcConvexDistance(body(of_a, X_WA), body(of_b, X_WB), 1);
    // skip directions close to a face normal, where face contacts follow other rules
    const auto along = [&](const RigidTransform& X) {
      return (X.R.transpose() * exact.nhat_AB_W).cwiseAbs().maxCoeff();
    };
    if (std::max(along(X_WA), along(X_WB)) > 0.999) continue;
    ++(exact.separation > 0 ? apart : overlapping);
    EXPECT_NEAR(contacts[0].gap, exact.separation, 1e-9);
    EXPECT_NEAR((Normal(contacts[0]) - exact.nhat_AB_W).norm(), 0, 1e-6);
    EXPECT_NEAR((contacts[0].p_W - 0.5 * (exact.p_A + exact.p_B)).norm(), 0, 1e-6);
  }
  EXPECT_GT(apart, 3);
  EXPECT_GT(overlapping, 200);
}

// An edge almost parallel to a face, as when a table's narrow side lies under another's top,
// touches at both rims. A single contact that jumps between them would let it rock.
TEST(RigidRigid, EdgeAlmostAlongAFaceTouchesWhereItCrossesTheRim) {
  for (const double tilt : {0.0, 1e-6, 1e-4, 3e-4, -1e-6, -1e-4, -3e-4}) {
    for (const bool is_capsule : {false, true}) {
      ContactWorld world;
      world.AddRigid(Box{{0.1, 0.2, 0.05}}, {});
      // 1 m long along x, rotated by 30° about x, with the lower edge 0.1 mm deep in the face
      const RigidTransform X_WB = Posed({0, 0, 0}, {kDegree * 30, 0, 0});
      const RigidTransform X_tilt = Posed({0, 0, 0}, {0, tilt, 0});
      const double lowest =
          is_capsule ? 0.02 : 0.02 * (std::cos(30 * kDegree) + std::sin(30 * kDegree));
      const RigidTransform X = At(0, 0, 0.05 + lowest - 1e-4) * X_tilt *
                               (is_capsule ? Posed({0, 0, 0}, {0, kPi / 2, 0}) : X_WB);
      if (is_capsule) {
        world.AddRigid(Capsule{0.02, 1}, X);
      } else {
        world.AddRigid(Box{{0.5, 0.02, 0.02}}, X);
      }
      double left = 1, right = 1;
      for (const ContactPoint& point : world.Detect()) {
        if (point.gap > 0) continue;
        (point.p_W.x() < 0 ? left : right) = std::abs(std::abs(point.p_W.x()) - 0.1);
        EXPECT_NEAR(point.gap, -1e-4, 0.1 * std::abs(tilt) + 1e-7) << tilt;
        EXPECT_GT(Normal(point).z(), 1 - 1e-6);
      }
      EXPECT_LT(left, 1e-4) << tilt << " " << is_capsule;
      EXPECT_LT(right, 1e-4) << tilt << " " << is_capsule;
    }
  }
}

TEST(RigidRigid, OverhangingBoxTouchesOverTheSharedPartOnly) {
  ContactWorld world;
  world.AddRigid(Box{{0.1, 0.1, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
  world.AddRigid(Box{{0.05, 0.2, 0.05}}, At(0.08, 0, 0.05 - 1e-4));
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 4u);
  for (const ContactPoint& point : contacts) {
    EXPECT_NEAR(std::abs(point.p_W.x() - 0.065), 0.035, 1e-12);
    EXPECT_NEAR(std::abs(point.p_W.y()), 0.1, 1e-12);
    EXPECT_NEAR(point.gap, -1e-4, 1e-15);
  }
}

TEST(RigidRigid, ParallelCapsulesTouchInTwoPoints) {
  ContactWorld world;
  world.AddRigid(Capsule{0.02, 0.1}, Posed({0, 0, 0}, {0, kPi / 2, 0}));
  world.AddRigid(Capsule{0.02, 0.1}, Posed({0.03, 0, 0.041}, {0, -kPi / 2, 0}));
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 2u);
  for (const ContactPoint& point : contacts) {
    EXPECT_NEAR(point.gap, 1e-3, 1e-12);
    EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
    EXPECT_NEAR(std::abs(point.p_W.x() - 0.015), 0.035, 1e-9);
  }
}

TEST(RigidRigid, BallInAGrooveOfAMeshTouchesBothSides) {
  // a solid with two slopes of 45° that meet along y
  TriangleMesh mesh = MakeBoxSurface({0.4, 0.4, 0.4}, 2);
  for (Vector3d& p : mesh.vertices)
    if (p.z() > 0.19 && std::abs(p.x()) < 0.01) p.z() -= 0.2;
  ContactWorld world;
  world.AddRigid(
      SurfaceMesh{std::make_shared<TriangleMesh>(mesh), std::make_shared<TriangleBvh>(mesh)}, {});
  const double radius = 0.05, gap = 1e-3;
  world.AddRigid(Sphere{radius}, At(0, 0.03, (radius + gap) * std::sqrt(2)));
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 2u);
  for (const ContactPoint& point : contacts) {
    EXPECT_NEAR(point.gap, gap, 1e-12);
    EXPECT_NEAR(std::abs(Normal(point).x()), std::sqrt(0.5), 1e-12);
    EXPECT_NEAR(Normal(point).z(), std::sqrt(0.5), 1e-12);
  }
}

TEST(RigidRigid, SwappedBodiesGiveMirroredContacts) {
  int num_touching = 0;
  const std::vector<Resting> shapes = MakeRestingShapes();
  for (const Resting& a : shapes) {
    for (const Resting& b : shapes) {
      const RigidTransform X_WA = Posed({0, 0, -a.height}, Vector3d(a.rotation.x() + kPi, 0, 0));
      const RigidTransform X_WB = Posed({0.001, 0.002, b.height - 1e-4}, b.rotation);
      ContactWorld world, swapped;
      world.AddRigid(a.geometry, X_WA);
      world.AddRigid(b.geometry, X_WB);
      swapped.AddRigid(b.geometry, X_WB);
      swapped.AddRigid(a.geometry, X_WA);
      const Summary here = Summarize(world.Detect()), there = Summarize(swapped.Detect());
      num_touching += here.count > 0;
      EXPECT_NEAR(here.gap, there.gap, 1e-6) << a.name << " " << b.name;
      EXPECT_EQ(here.count, there.count) << a.name << " " << b.name;
      Vector3d sum = Vector3d::Zero();
      for (const ContactPoint& point : world.Detect()) sum += Normal(point);
      for (const ContactPoint& point : swapped.Detect()) sum += Normal(point);
      EXPECT_NEAR(sum.norm(), 0, 1e-4) << a.name << " " << b.name;
    }
  }
  EXPECT_GT(num_touching, 100);
}

}  // namespace
}  // namespace pliant::physics
