#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TEST(SoftRigid, BoxRestingOnHalfSpaceTouchesWithAllItsBottomVerticesAtEqualGaps) {
  for (double gap : {1e-3, 0.0, -1e-4}) {
    ContactWorld world;
    world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 4), At(0, 0, 0.1 + gap));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 25u);
    double area = 0;
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR(point.gap, gap, 1e-16);
      EXPECT_EQ(Normal(point), Vector3d::UnitZ());
      EXPECT_EQ(point.a.block, kWorldBlock);
      ASSERT_EQ(point.b.nodes.size(), 1);
      EXPECT_EQ(point.b.nodes.weight(0), 1);
      // the point is midway; an open gap is between the points of the two sides
      EXPECT_NEAR(point.p_W.z(), 0.5 * gap, 1e-16);
      EXPECT_NEAR(point.a.p_W.z(), gap > 0 ? 0 : 0.5 * gap, 1e-16);
      EXPECT_NEAR(point.b.p_W.z(), gap, 1e-16);
      area += point.area;
    }
    // only the bottom faces the ground
    EXPECT_NEAR(area, 0.04, 1e-15);
  }
}

TEST(SoftRigid, BoxOnWideBoxTouchesAsOnAHalfSpace) {
  ContactWorld world;
  world.AddRigid(Box{{1, 1, 0.05}}, At(0, 0, -0.05), Motion::kFixed);
  world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 4), At(0, 0, 0.1 - 1e-3));
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 25u);
  for (const ContactPoint& point : contacts) {
    EXPECT_NEAR(point.gap, -1e-3, 1e-16);
    EXPECT_EQ(Normal(point), Vector3d::UnitZ());
  }
}

TEST(SoftRigid, SmallBallPokingALargeTriangleMakesOneContactInside) {
  const double radius = 0.005;
  // the top has two triangles, and (0.05, 0.02) lies well inside one of them
  for (double gap : {1e-3, -1e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(Sphere{radius}, At(0.05, 0.02, 0.1 + radius + gap));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u);
    const ContactPoint& point = contacts[0];
    // the cutting-plane search stops within 1e-3 of 2 % of the longest edge
    EXPECT_NEAR(point.gap, gap, 1e-3 * 0.02 * 0.29);
    EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
    EXPECT_EQ(point.a.nodes.size(), 3);
    Vector3d p = Vector3d::Zero();
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      const double* q = world.state.q.data() + 3 * point.a.nodes.node(k);
      p += point.a.nodes.weight(k) * Vector3d(q[0], q[1], q[2]);
      sum += point.a.nodes.weight(k);
    }
    EXPECT_NEAR(sum, 1, 1e-15);
    EXPECT_NEAR((p - point.a.p_W).norm(), 0, 1e-12);
    EXPECT_NEAR((p - Vector3d(0.05, 0.02, 0.1)).norm(), 0, 1e-3);
  }
}

TEST(SoftRigid, BladeBetweenVerticesIsPartedAlongTheTriangleHoweverDeep) {
  // a bar, 4 mm thick, standing on its long edge and pressed into a large triangle
  const double half = 0.01, corner = half * std::sqrt(2);
  for (double depth : {-1e-3, 1e-3, 3e-3, 9e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(Box{{half, 0.002, half}},
                   Posed({0.05, 0.02, 0.1 + corner - depth}, {0, kPi / 4, 0}));
    const auto contacts = world.Detect();
    // at both ends of the edge, until the bar's flat sides are nearer
    ASSERT_EQ(contacts.size(), depth < 2e-3 ? 2u : 1u) << depth;
    for (const ContactPoint& contact : contacts) {
      EXPECT_NEAR((Normal(contact) - Vector3d::UnitZ()).norm(), 0, 1e-9) << depth;
      // the edge is `depth` below the triangle along its normal
      EXPECT_NEAR(contact.gap, std::max(-depth, -2e-3), 1e-4) << depth;
    }
  }
}

// Flat sides touch at all corners of their overlap, however they are tilted. The corners are those
// of the box, and the points where its sides cross the diagonal of the block's top.
TEST(SoftRigid, BoxOnLargeTrianglesTouchesAtTheCornersOfTheOverlap) {
  for (double tilt : {0.0, 1e-4, -1e-4}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(Box{{0.03, 0.02, 0.01}}, Posed({0.01, 0.004, 0.11}, {tilt, tilt, 0}));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 6u);
    int corners = 0;
    std::set<std::uint64_t> keys;
    for (const ContactPoint& point : contacts) {
      keys.insert(point.key);
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
      const Vector3d p = point.a.p_W;
      EXPECT_NEAR(p.z(), 0.1, 1e-15);
      // the lower side of the box, turned about x and then about y
      const double height = tilt * (p.y() - 0.004) - tilt * (p.x() - 0.01);
      EXPECT_NEAR(point.gap, height, 1e-8);
      const bool is_corner = std::abs(std::abs(p.x() - 0.01) - 0.03) < 1e-5 &&
                             std::abs(std::abs(p.y() - 0.004) - 0.02) < 1e-5;
      corners += is_corner;
      EXPECT_EQ(point.a.nodes.size(), is_corner ? 3 : 2);
    }
    EXPECT_EQ(corners, 4);
    EXPECT_EQ(keys.size(), 6u);
  }
}

TEST(SoftRigid, ThinPlateKeepsItsNormalDownToHalfItsThickness) {
  const double half = 0.005;
  for (double depth = 0; depth < half; depth += 2e-4) {
    ContactWorld world;
    world.AddRigid(Box{{0.5, 0.5, half}}, At(0, 0, -half), Motion::kFixed);
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 4), At(0, 0, 0.05 - depth));
    for (const ContactPoint& point : world.Detect()) {
      EXPECT_EQ(Normal(point), Vector3d::UnitZ());
      EXPECT_NEAR(point.gap, -depth, 1e-15);
    }
  }
}

TEST(SoftRigid, PrescribedVerticesMakeNoContactWithWhatCannotMove) {
  for (Motion motion : {Motion::kFixed, Motion::kKinematic, Motion::kFree}) {
    ContactWorld world;
    world.AddRigid(Box{{1, 1, 0.05}}, At(0, 0, -0.05), motion);
    const TriangleMesh surface = MakeBoxSurface({0.2, 0.2, 0.2}, 4);
    const int soft = world.AddSoft(surface, At(0, 0, 0.1));
    auto block = std::make_shared<PlacedBlock>(static_cast<int>(surface.vertices.size()));
    for (int i = 0; i < static_cast<int>(surface.vertices.size()); ++i)
      if (surface.vertices[i].x() < -0.09) block->prescribed.push_back(i);
    world.model.blocks[world.model.bodies[soft].block] = block;
    EXPECT_EQ(world.Detect().size(), motion == Motion::kFree ? 25u : 20u);
  }
}

TEST(SoftRigid, SpikeOfAMeshPokingALargeTriangleMakesOneContactInside) {
  // a concave body: a flat plate with one vertex of its underside pulled down
  TriangleMesh mesh = MakeBoxSurface({0.1, 0.1, 0.05}, 2);
  for (Vector3d& p : mesh.vertices)
    if (p.z() < 0 && std::abs(p.x()) < 0.01 && std::abs(p.y()) < 0.01) p.z() -= 0.05;
  const SurfaceMesh spike{std::make_shared<TriangleMesh>(mesh),
                          std::make_shared<TriangleBvh>(mesh)};
  for (double gap : {1e-3, -1e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(spike, At(0.05, 0.02, 0.1 + 0.075 + gap));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u) << gap;
    EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-9);
    EXPECT_NEAR((contacts[0].p_W - Vector3d(0.05, 0.02, 0.1)).norm(), 0, 1e-3);
    EXPECT_LT(std::abs(contacts[0].gap - gap), 0.5e-3);
  }
}

TEST(SoftRigid, SwappedBodiesGiveMirroredContacts) {
  const TriangleMesh ball = MakeBallSurface(0.05, 2);
  const RigidTransform X_WSoft = At(0.01, 0.005, 0.045),
                       X_WRigid = Posed({0, 0, -0.02}, {0.1, 0.2, 0.3});
  ContactWorld world, swapped;
  world.AddSoft(ball, X_WSoft);
  world.AddRigid(Box{{0.03, 0.04, 0.02}}, X_WRigid);
  swapped.AddRigid(Box{{0.03, 0.04, 0.02}}, X_WRigid);
  swapped.AddSoft(ball, X_WSoft);
  const auto contacts = world.Detect(), mirrored = swapped.Detect();
  ASSERT_GT(contacts.size(), 3u);
  ASSERT_EQ(contacts.size(), mirrored.size());
  for (const ContactPoint& point : contacts) {
    EXPECT_EQ(point.a.block, 0);
    EXPECT_EQ(point.b.block, 1);
    const bool is_found =
        std::any_of(mirrored.begin(), mirrored.end(), [&](const ContactPoint& other) {
          return other.p_W == point.p_W && Normal(other) == -Normal(point) &&
                 other.gap == point.gap && other.b.nodes == point.a.nodes && other.b.block == 1;
        });
    EXPECT_TRUE(is_found);
  }
}

}  // namespace
}  // namespace pliant::physics
