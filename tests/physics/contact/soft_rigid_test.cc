#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Vector3d Normal(const ContactPoint& point) { return point.R_WC.col(2); }

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
      ASSERT_EQ(point.b.num_nodes, 1);
      EXPECT_EQ(point.b.weights[0], 1);
      EXPECT_EQ(point.p_W, point.a.p_W);
      EXPECT_EQ(point.p_W, point.b.p_W);
      EXPECT_NEAR(point.p_W.z(), gap, 1e-16);
      area += point.area;
    }
    // the bottom, and a third of each wall triangle by its vertices on the border: 16 columns of two triangles, three
    // bottom corners between them
    EXPECT_NEAR(area, 0.04 + 16 * 3.0 / 3 * 0.5 * 0.05 * 0.05, 1e-15);
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
  // the top has two triangles; (0.05, 0.02) lies well inside one of them
  for (double gap : {1e-3, -1e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(Sphere{radius}, At(0.05, 0.02, 0.1 + radius + gap));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u);
    const ContactPoint& point = contacts[0];
    // the cutting planes stop within 1e-3 of 2 % of the longest edge
    EXPECT_NEAR(point.gap, gap, 1e-3 * 0.02 * 0.29);
    EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-9);
    EXPECT_EQ(point.a.num_nodes, 3);
    Vector3d p = Vector3d::Zero();
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      const double* q = world.state.q.data() + 3 * point.a.nodes[k];
      p += point.a.weights[k] * Vector3d(q[0], q[1], q[2]);
      sum += point.a.weights[k];
    }
    EXPECT_NEAR(sum, 1, 1e-15);
    EXPECT_NEAR((p - point.a.p_W).norm(), 0, 1e-12);
    EXPECT_NEAR((p - Vector3d(0.05, 0.02, 0.1)).norm(), 0, 1e-3);
  }
}

TEST(SoftRigid, BladeBetweenVerticesIsPartedAlongTheTriangleHoweverDeep) {
  // a bar standing on its long edge, pressed into a large triangle; it is 4 mm thick
  const double half = 0.01, corner = half * std::sqrt(2);
  for (double depth : {-1e-3, 1e-3, 2e-3, 9e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
    world.AddRigid(Box{{half, 0.002, half}}, Posed({0.05, 0.02, 0.1 + corner - depth}, {0, kPi / 4, 0}));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u) << depth;
    EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-9) << depth;
    // along the normal the edge is `depth` below the triangle, until the flat sides are nearer than the edge
    EXPECT_NEAR(contacts[0].gap, std::max(-depth, -2e-3), 1e-4) << depth;
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

}  // namespace
}  // namespace pliant::physics
