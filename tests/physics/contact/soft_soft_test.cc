#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Vector3d Locate(const ContactWorld& world, const Attachment& side) {
  Vector3d p = Vector3d::Zero();
  const double* q = world.state.q.data() + world.model.position_offsets[side.block];
  for (int k = 0; k < side.nodes.size(); ++k)
    p += side.nodes.weight(k) * Vector3d::Map(q + 3 * side.nodes.node(k));
  return p;
}

TEST(SoftSoft, SmallBoxOnLargeBoxHasOneVerticalContactAtEachOfItsBottomVertices) {
  for (double gap : {1e-3, 1e-6, 0.0, -1e-6, -1e-3}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.4, 0.4, 0.2}, 2), At(0, 0, -0.1));
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0.07, 0.03, 0.05 + gap));
    const auto contacts = world.Detect();
    int of_upper = 0;
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-12);
      EXPECT_NEAR(point.gap, gap, 1e-15);
      EXPECT_NEAR(Normal(point).dot(Locate(world, point.b) - Locate(world, point.a)), gap, 1e-12);
      of_upper += point.b.nodes.size() == 1;
    }
    // no vertex of the lower box is under the upper one
    EXPECT_EQ(of_upper, 16) << gap;
    EXPECT_EQ(contacts.size(), 16u) << gap;
  }
}

TEST(SoftSoft, EqualBoxesStackedExactlyHaveOneContactForEachPairOfVertices) {
  for (double gap : {1e-3, 0.0, -1e-4}) {
    ContactWorld world;
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0, 0, 0));
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0, 0, 0.1 + gap));
    const auto contacts = world.Detect();
    EXPECT_EQ(contacts.size(), 16u) << gap;
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-12);
      EXPECT_NEAR(point.gap, gap, 1e-15);
      EXPECT_EQ(point.a.nodes.size(), 1);
      EXPECT_EQ(point.b.nodes.size(), 1);
    }
  }
}

TEST(SoftSoft, ShiftedStackStaysVerticalWhileItSlides) {
  // the upper box slides over the border of the lower one, without any sideways contact
  for (double shift : {1e-9, 1e-5, 1e-3, 0.01, 0.02, 0.0333, 0.05}) {
    for (double gap : {1e-6, -1e-6, -1e-4}) {
      ContactWorld world;
      world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0, 0, 0));
      world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(shift, 0.3 * shift, 0.1 + gap));
      const auto contacts = world.Detect();
      EXPECT_GE(contacts.size(), 8u);
      for (const ContactPoint& point : contacts) {
        EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-12) << shift << " " << gap;
        EXPECT_NEAR(point.gap, gap, 1e-15) << shift;
      }
    }
  }
}

TEST(SoftSoft, BallsTouchAlongTheLineOfCentres) {
  const TriangleMesh ball = MakeBallSurface(0.05, 3);
  for (double gap : {1e-3, -1e-3, -4e-3}) {
    ContactWorld world;
    const Vector3d direction = Vector3d(0.3, -0.5, 0.8).normalized();
    world.AddSoft(ball, At(0, 0, 0));
    world.AddSoft(ball, {Eigen::Matrix3d::Identity(), (0.1 + gap) * direction});
    const auto contacts = world.Detect();
    ASSERT_FALSE(contacts.empty());
    for (const ContactPoint& point : contacts) {
      // facets are about 8 degrees wide, and the patch reaches √(2 · 4 mm / 50 mm) rad
      EXPECT_GT(Normal(point).dot(direction), 0.9);
      EXPECT_GT(point.gap, gap - 1e-3);
      double sum_a = 0, sum_b = 0;
      for (int k = 0; k < point.a.nodes.size(); ++k) sum_a += point.a.nodes.weight(k);
      for (int k = 0; k < point.b.nodes.size(); ++k) sum_b += point.b.nodes.weight(k);
      EXPECT_NEAR(sum_a, 1, 1e-15);
      EXPECT_NEAR(sum_b, 1, 1e-15);
    }
  }
}

TEST(SoftSoft, CrossedEdgesTouchThoughNoVertexTells) {
  // two crossed bars with edges facing each other
  for (double gap : {1e-3, 0.0, -1e-3}) {
    ContactWorld world;
    const double half = 0.01 * std::sqrt(2);
    world.AddSoft(MakeBoxSurface({0.2, 0.02, 0.02}, 1), Posed({0.013, 0, 0}, {kPi / 4, 0, 0}));
    world.AddSoft(MakeBoxSurface({0.02, 0.2, 0.02}, 1),
                  Posed({0, 0.017, 2 * half + gap}, {0, kPi / 4, 0}));
    const auto contacts = world.Detect();
    ASSERT_EQ(contacts.size(), 1u) << gap;
    EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-9);
    EXPECT_NEAR(contacts[0].gap, gap, 1e-12);
    EXPECT_EQ(contacts[0].a.nodes.size(), 2);
    EXPECT_NEAR((Locate(world, contacts[0].a) - Vector3d(0, 0, half)).norm(), 0, 1e-9);
  }
}

TEST(SoftSoft, SwappedBodiesGiveMirroredContacts) {
  const TriangleMesh ball = MakeBallSurface(0.05, 2);
  const TriangleMesh box = MakeBoxSurface({0.1, 0.1, 0.05}, 3);
  ContactWorld world, swapped;
  world.AddSoft(ball, At(0.004, 0.007, 0.072));
  world.AddSoft(box, At(0, 0, 0));
  swapped.AddSoft(box, At(0, 0, 0));
  swapped.AddSoft(ball, At(0.004, 0.007, 0.072));
  const auto contacts = world.Detect(), mirrored = swapped.Detect();
  ASSERT_FALSE(contacts.empty());
  ASSERT_EQ(contacts.size(), mirrored.size());
  for (const ContactPoint& point : contacts) {
    const bool is_found =
        std::any_of(mirrored.begin(), mirrored.end(), [&](const ContactPoint& other) {
          return other.p_W == point.p_W && Normal(other) == -Normal(point) &&
                 other.gap == point.gap && other.a.nodes == point.b.nodes;
        });
    EXPECT_TRUE(is_found);
  }
}

}  // namespace
}  // namespace pliant::physics
