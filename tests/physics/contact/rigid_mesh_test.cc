#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A box with n × n squares a side, given as a general surface mesh.
SurfaceMesh MakeBar(const Vector3d& size, int n) {
  const auto mesh = std::make_shared<TriangleMesh>(MakeBoxSurface(size, n));
  return {mesh, std::make_shared<TriangleBvh>(*mesh)};
}

// Two crossed bars of square section, the upper one rotated by 30° about z.
ContactWorld MakeCrossedBars(double gap, int n) {
  ContactWorld world;
  world.AddRigid(MakeBar({0.4, 0.04, 0.04}, n), At(0.003, 0, -0.02));
  world.AddRigid(MakeBar({0.4, 0.04, 0.04}, n), Posed({0, 0.002, 0.02 + gap}, {0, 0, kPi / 6}));
  return world;
}

TEST(RigidMesh, CopiesOfAPartShareTheirCollisionData) {
  const auto mesh = std::make_shared<TriangleMesh>(MakeBoxSurface({0.1, 0.1, 0.1}, 1));
  const auto bvh = std::make_shared<TriangleBvh>(*mesh);
  const Shape hull{.X_BS = {}, .geometry = ConvexMesh{mesh}};
  const Shape moved{.X_BS = At(1, 0, 0), .geometry = ConvexMesh{mesh}};
  const Shape surface{.X_BS = {}, .geometry = SurfaceMesh{mesh, bvh}};
  const Shape small{.X_BS = {}, .geometry = Box{{0.1, 0.1, 0.1}}};
  const Shape large{.X_BS = {}, .geometry = Box{{0.2, 0.2, 0.2}}};
  const auto made = MakeCollisionShapes(std::vector{&hull, &small, &moved, &large, &surface});
  ASSERT_EQ(made.size(), 5u);
  EXPECT_EQ(made[2].shape, &moved);
  EXPECT_EQ(made[2].polyhedron, made[0].polyhedron);
  EXPECT_EQ(made[2].bvh, made[0].bvh);
  EXPECT_EQ(made[4].polyhedron, nullptr);
  EXPECT_EQ(made[4].bvh, bvh);
  EXPECT_NE(made[3].polyhedron->vertices, made[1].polyhedron->vertices);
}

TEST(RigidMesh, CrossedBarsTouchInTheFourCornersOfTheirOverlap) {
  for (const double gap : {1e-3, 1e-6, 0.0, -1e-6, -1e-3}) {
    const auto contacts = MakeCrossedBars(gap, 1).Detect();
    ASSERT_EQ(contacts.size(), 4u) << gap;
    Vector3d middle = Vector3d::Zero();
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR(point.gap, gap, 1e-12);
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
      EXPECT_NEAR(std::abs(point.p_W.y()), 0.02, 1e-9);
      middle += 0.25 * point.p_W;
    }
    // the axes of the bars cross here
    EXPECT_NEAR(middle.x(), -0.002 / std::tan(kPi / 6), 1e-9);
    EXPECT_NEAR(middle.y(), 0, 1e-9);
  }
}

// No corner is lost over the seam of two triangles, or when the overlap is as small as rounding.
TEST(RigidMesh, CubeOnTheSeamOfASlabTouchesWithItsFourCorners) {
  for (const double gap : {1e-4, 1e-9, 0.0, -1e-9, -2e-8, -1e-7, -1e-5}) {
    for (const double yaw : {0.0, 1e-9, 0.3}) {
      ContactWorld world;
      world.AddRigid(MakeBar({1, 1, 0.2}, 1), At(0, 0, -0.1));
      world.AddRigid(Box{{0.05, 0.05, 0.05}}, Posed({0, 0, 0.05 + gap}, {0, 0, yaw}));
      const auto contacts = world.Detect();
      ASSERT_EQ(contacts.size(), 4u) << gap << " " << yaw;
      Vector3d middle = Vector3d::Zero();
      for (const ContactPoint& point : contacts) {
        EXPECT_NEAR(point.gap, gap, 1e-12);
        EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
        middle += 0.25 * point.p_W;
      }
      EXPECT_NEAR(middle.head<2>().norm(), 0, 1e-9) << gap << " " << yaw;
    }
  }
}

// Corners of a mesh on a wider convex body touch, also those where seams of flat sides end.
TEST(RigidMesh, MeshOnAWiderBodyTouchesWithItsCorners) {
  for (const double gap : {1e-4, 0.0, -1e-5}) {
    for (const bool on_cylinder : {false, true}) {
      ContactWorld world;
      if (on_cylinder) {
        world.AddRigid(Cylinder{0.2, 0.2}, At(0, 0, -0.1));
      } else {
        world.AddRigid(Box{{0.2, 0.2, 0.1}}, At(0, 0, -0.1));
      }
      world.AddRigid(MakeBar({0.1, 0.1, 0.1}, 1), At(0.02, 0.01, 0.05 + gap));
      const auto contacts = world.Detect();
      ASSERT_EQ(contacts.size(), 4u) << gap << " " << on_cylinder;
      Vector3d middle = Vector3d::Zero();
      for (const ContactPoint& point : contacts) {
        EXPECT_NEAR(point.gap, gap, 1e-9);
        middle += 0.25 * point.p_W;
      }
      EXPECT_NEAR((middle.head<2>() - Eigen::Vector2d(0.02, 0.01)).norm(), 0, 1e-9);
    }
  }
}

// A disc of triangles about its centre: every side within it is a seam.
TEST(RigidMesh, FlatFanOnAWiderBodyTouchesWithItsRim) {
  constexpr int kSides = 12;
  const auto mesh = std::make_shared<TriangleMesh>();
  for (const double z : {0.0, 0.02}) {
    mesh->vertices.push_back({0, 0, z});
    for (int i = 0; i < kSides; ++i) {
      const double angle = 2 * kPi * i / kSides;
      mesh->vertices.push_back({0.05 * std::cos(angle), 0.05 * std::sin(angle), z});
    }
  }
  const int top = kSides + 1;
  for (int i = 0; i < kSides; ++i) {
    const int a = 1 + i, b = 1 + (i + 1) % kSides;
    mesh->triangles.push_back({0, b, a});
    mesh->triangles.push_back({top, top + a, top + b});
    mesh->triangles.push_back({a, b, top + b});
    mesh->triangles.push_back({a, top + b, top + a});
  }
  ContactWorld world;
  world.AddRigid(Box{{0.2, 0.2, 0.1}}, At(0, 0, -0.1));
  world.AddRigid(SurfaceMesh{mesh, std::make_shared<TriangleBvh>(*mesh)}, At(0, 0, -1e-5));
  const auto contacts = world.Detect();
  ASSERT_GE(contacts.size(), 3u);
  Vector3d middle = Vector3d::Zero();
  for (const ContactPoint& point : contacts) {
    EXPECT_NEAR(point.p_W.head<2>().norm(), 0.05, 1e-9);
    EXPECT_NEAR(point.gap, -1e-5, 1e-9);
    middle += point.p_W / static_cast<double>(contacts.size());
  }
  EXPECT_LT(middle.head<2>().norm(), 0.01);  // the rim's points surround the centre
}

// All corners within the margin touch at any tilt, not only those over the triangle that is below
// the lowest corner.
TEST(RigidMesh, LeaningCubeTouchesWithAllCornersWithinTheMargin) {
  for (const double lean : {0.0, 1e-7, -1e-7, 1e-5, 1e-3, 5e-3}) {
    for (const double deepest : {1e-4, 0.0, -1e-7, -1e-4}) {
      ContactWorld world;
      world.AddRigid(MakeBar({1, 1, 0.2}, 1), At(0, 0, -0.1));
      const Eigen::Quaterniond turn = RotationFromVector(Vector3d(lean, 0.7 * lean, 0));
      double lowest = 0;
      for (const double x : {-0.05, 0.05})
        for (const double y : {-0.05, 0.05})
          lowest = std::min(lowest, (turn * Vector3d(x, y, -0.05)).z());
      RigidTransform X_WB = At(0.01, 0, deepest - lowest);
      X_WB.R = turn.toRotationMatrix();
      world.AddRigid(Box{{0.05, 0.05, 0.05}}, X_WB);
      std::size_t near = 0;
      for (const double x : {-0.05, 0.05})
        for (const double y : {-0.05, 0.05})
          near += (X_WB * Vector3d(x, y, -0.05)).z() < world.model.contact.margin;
      EXPECT_EQ(world.Detect().size(), near) << lean << " " << deepest;
    }
  }
}

// Surface meshes behave like the boxes in
// RigidRigid.CrossedBoxEdgesTouchInOnePointAlongTheirCommonNormal.
TEST(RigidMesh, CrossedEdgesTouchInOnePointAlongTheirCommonNormal) {
  for (const double gap : {1e-3, 1e-9, 0.0, -1e-9, -1e-3}) {
    ContactWorld world;
    const double half = 0.01 * std::sqrt(2);
    world.AddRigid(MakeBar({0.2, 0.02, 0.02}, 1), Posed({0.013, 0, 0}, {kPi / 4, 0, 0}));
    world.AddRigid(MakeBar({0.02, 0.2, 0.02}, 1),
                   Posed({0, 0.017, 2 * half + gap}, {0, kPi / 4, 0}));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u) << gap;
    EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-12) << gap;
    EXPECT_NEAR(contacts[0].gap, gap, 1e-12);
    EXPECT_NEAR((contacts[0].p_W - Vector3d(0, 0, half + 0.5 * gap)).norm(), 0, 1e-9);
  }
}

// Seams between coplanar triangles, and reentrant edges, make no edge contacts: every contact
// between two flat sides is normal to them, however finely and differently they are triangulated.
TEST(RigidMesh, SeamsWithinFlatSidesMakeNoGhostContacts) {
  for (const int n : {2, 5}) {
    for (const double gap : {5e-5, -5e-5}) {
      ContactWorld world = MakeCrossedBars(gap, n);
      world.model.contact.margin = 1e-4;
      for (const ContactPoint& point : world.Detect()) {
        EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9) << n;
        EXPECT_NEAR(point.gap, gap, 1e-12) << n;
      }
      EXPECT_GE(world.Detect().size(), 4u) << n;
    }
  }
}

TEST(RigidMesh, KeysOfEdgesStayWhileTheSameEdgesCross) {
  std::set<std::uint64_t> keys;
  ContactWorld world = MakeCrossedBars(-1e-4, 1);
  world.model.Finish();
  for (int k = 0; k < 5; ++k) {
    world.Place(1, Posed({0.002 * k, 0.001 * k, 0.02 - 1e-4}, {0, 0, kPi / 6 + 0.02 * k}));
    for (const ContactPoint& point : world.Detect()) keys.insert(point.key);
  }
  EXPECT_EQ(keys.size(), 4u);
}

}  // namespace
}  // namespace pliant::physics
