#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "physics/contact/pairs/narrow_phase.h"
#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

PointSet MakePoint(const Vector3d& p_W, double radius, NodeWeights nodes = {{0, 1.0}}) {
  PointSet points;
  PointSet::Point& point = points.Add();
  point.p_W = p_W;
  point.radius = radius;
  point.area = 2.5;
  point.nodes = std::move(nodes);
  points.Finish();
  return points;
}

TEST(PointsOnShapes, BallTouchesWhereItIsNearest) {
  const Shape shape{{}, Box{{0.1, 0.1, 0.1}}};
  const CollisionShape box(shape);
  const PlacedShape placed(box, At(0, 0, -0.1));
  for (const double gap : {1e-3, 1e-9, 0.0, -1e-3}) {
    const PointSet points = MakePoint({0.02, 0.03, 0.01 + gap}, 0.01);
    for (const bool shape_is_a : {false, true}) {
      std::vector<Touch> touches;
      CollidePointsShape(points, placed, shape_is_a, false, 0.002, &touches);
      ASSERT_EQ(touches.size(), 1u) << gap;
      EXPECT_NEAR(touches[0].gap, gap, 1e-15);
      EXPECT_EQ(touches[0].nhat_AB_W, Vector3d(0, 0, shape_is_a ? 1 : -1));
      EXPECT_NEAR((touches[0].p_W - Vector3d(0.02, 0.03, 0.5 * gap)).norm(), 0, 1e-15);
      EXPECT_EQ(touches[0].area, 2.5);
      EXPECT_EQ((shape_is_a ? touches[0].b : touches[0].a), (NodeWeights{{0, 1.0}}));
      EXPECT_TRUE((shape_is_a ? touches[0].a : touches[0].b).empty());
    }
  }
}

TEST(PointsOnShapes, MarginBoundsEveryGapAndWhatCannotMoveDoesNotTouch) {
  const Shape shape{{}, HalfSpace{}};
  const CollisionShape ground(shape);
  const PlacedShape placed(ground, {});
  PointSet points;
  for (int i = 0; i < 100; ++i) {
    PointSet::Point& point = points.Add();
    point.p_W = {0.1 * i, 0, 1e-4 * i};
    point.is_prescribed = i % 2 == 1;
    point.nodes.Add(i, 1);
  }
  points.Finish();
  for (const bool is_immovable : {false, true}) {
    std::vector<Touch> touches;
    CollidePointsShape(points, placed, true, is_immovable, 2.05e-3, &touches);
    EXPECT_EQ(touches.size(), is_immovable ? 11u : 21u);
    for (const Touch& touch : touches) EXPECT_LT(touch.gap, 2.05e-3);
  }
}

// A point in a grid of quadratic B-splines moves with 27 nodes. All of them must be kept, copied
// and moved like any others.
TEST(PointsOnShapes, PointMayMoveByAnyNumberOfNodes) {
  NodeWeights nodes;
  for (int i = 0; i < 27; ++i) nodes.Add(100 + i, 1.0 / 27);
  const PointSet points = MakePoint({0, 0, 1e-3}, 0, nodes);
  const Shape shape{{}, HalfSpace{}};
  const CollisionShape ground(shape);
  std::vector<Touch> touches;
  CollidePointsShape(points, PlacedShape(ground, {}), true, false, 0.002, &touches);
  ASSERT_EQ(touches.size(), 1u);
  EXPECT_EQ(touches[0].b, nodes);
  std::vector<ContactPoint> contacts(3);
  contacts[1].b.nodes = std::move(touches[0].b);
  contacts.insert(contacts.begin(), ContactPoint{});
  const ContactPoint copy = contacts[2];
  contacts.clear();
  EXPECT_EQ(copy.b.nodes, nodes);
}

// Places a point over, beside and in a deforming box.
TEST(PointsOnSurfaces, GapIsTheSignedDistanceLessTheRadius) {
  ContactWorld world;
  const int box = world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 2), {});
  world.model.Finish();
  TriangleSurface surface(world.model.bodies[box], *world.model.blocks[0]->abilities().nodes);
  surface.Update(world.state.q);
  surface.UpdateTree();
  struct Place {
    Vector3d p, n;
    double distance;
  };
  const double root = std::sqrt(0.5);
  for (const Place& place :
       {Place{{0.03, 0.02, 0.101}, {0, 0, 1}, 1e-3}, Place{{0.03, 0.02, 0.098}, {0, 0, 1}, -2e-3},
        Place{{0.1 + 7e-4, 0.02, 0.1 + 7e-4}, {root, 0, root}, 7e-4 / root},
        Place{{0.1, 0.013, 0.1}, {root, 0, root}, 0}}) {
    for (const double radius : {0.0, 0.003}) {
      for (const bool surface_is_a : {false, true}) {
        std::vector<Touch> touches;
        CollidePointsSurface(MakePoint(place.p, radius), surface, surface_is_a, 0.002, &touches);
        ASSERT_EQ(touches.size(), 1u) << place.p.transpose();
        const Touch& touch = touches[0];
        EXPECT_NEAR(touch.gap, place.distance - radius, 1e-14);
        EXPECT_NEAR((touch.nhat_AB_W - (surface_is_a ? 1 : -1) * place.n).norm(), 0, 1e-9);
        // the nearest point is interpolated from the surface's nodes
        const NodeWeights& nodes = surface_is_a ? touch.a : touch.b;
        Vector3d p = Vector3d::Zero();
        for (int k = 0; k < nodes.size(); ++k)
          p += nodes.weight(k) * VertexAt(world.state.q, nodes.node(k));
        EXPECT_NEAR((p - (place.p - place.distance * place.n)).norm(), 0, 1e-12);
      }
    }
  }
}

// Balls of different radii in two boxes that overlap, some of them points.
PointSet ScatterBalls(int count, const Vector3d& center, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&] { return random() / 4294967296.0; };
  PointSet points;
  for (int i = 0; i < count; ++i) {
    PointSet::Point& point = points.Add();
    for (int r = 0; r < 3; ++r) point.p_W[r] = center[r] + 0.2 * (draw() - 0.5);
    point.radius = i % 5 == 0 ? 0 : 0.02 * draw();
    point.area = kPi * point.radius * point.radius;
    point.is_prescribed = i % 7 == 0;
    point.nodes.Add(i, 1);
  }
  points.Finish();
  return points;
}

TEST(PointsOnPoints, EveryPairOfBallsWithinTheMarginTouchesOnce) {
  const PointSet a = ScatterBalls(300, {0, 0, 0}, 1), b = ScatterBalls(400, {0.05, 0.1, 0.02}, 2);
  for (const double margin : {1e-9, 0.002, 0.05}) {
    std::set<std::pair<int, int>> expected;
    for (int i = 0; i < a.size(); ++i) {
      for (int j = 0; j < b.size(); ++j) {
        const double reach = a[i].radius + b[j].radius;
        if (reach == 0 || (a[i].is_prescribed && b[j].is_prescribed)) continue;
        if ((a[i].p_W - b[j].p_W).norm() - reach < margin) expected.insert({i, j});
      }
    }
    ASSERT_GT(expected.size(), 100u);
    NarrowScratch scratch;
    std::vector<Touch> touches;
    CollidePoints(a, b, margin, &scratch, &touches);
    std::set<std::pair<int, int>> found;
    std::set<std::uint64_t> keys;
    for (const Touch& touch : touches) {
      const int i = touch.feature_a.index, j = touch.feature_b.index;
      found.insert({i, j});
      keys.insert(touch.feature);
      EXPECT_EQ(touch.a, a[i].nodes);
      EXPECT_EQ(touch.b, b[j].nodes);
      // both surfaces are half the gap away from the contact, along the normal
      const Vector3d half = 0.5 * touch.gap * touch.nhat_AB_W;
      EXPECT_NEAR((touch.p_W - half - a[i].p_W - a[i].radius * touch.nhat_AB_W).norm(), 0, 1e-15);
      EXPECT_NEAR((touch.p_W + half - b[j].p_W + b[j].radius * touch.nhat_AB_W).norm(), 0, 1e-15);
    }
    EXPECT_EQ(touches.size(), expected.size()) << margin;
    EXPECT_EQ(keys.size(), expected.size());
    EXPECT_EQ(found, expected);
  }
}

TEST(PointsOnPoints, NormalOfBallsWithTheSameCenterIsZero) {
  const PointSet points = MakePoint({0.1, 0.2, 0.3}, 0.01);
  NarrowScratch scratch;
  std::vector<Touch> touches;
  CollidePoints(points, points, 0.002, &scratch, &touches);
  ASSERT_EQ(touches.size(), 1u);
  EXPECT_EQ(touches[0].gap, -0.02);
  EXPECT_EQ(touches[0].nhat_AB_W, Vector3d::Zero());
}

TEST(PointsInWorlds, BodiesOfPointsTouchEachOtherUnlessTheyShareABlock) {
  ContactWorld world;
  const int a = world.AddPoints({{0, 0, 0}, {0.1, 0, 0}}, 0.01);
  const int b = world.AddPoints({{0, 0, 0.021}, {0.1, 0, 0.019}}, 0.01);
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 2u);
  for (const ContactPoint& contact : contacts) {
    EXPECT_EQ(contact.body_a, a);
    EXPECT_EQ(contact.body_b, b);
    EXPECT_NEAR((Normal(contact) - Vector3d(0, 0, 1)).norm(), 0, 1e-15);
    EXPECT_NEAR(std::abs(contact.gap), 1e-3, 1e-15);
    EXPECT_NEAR(contact.area, kPi * 1e-4, 1e-15);
  }
  // bodies of one block interact within it, also when other bodies lie between them in the list
  for (const bool is_next : {true, false}) {
    ContactWorld shared;
    const int first = shared.AddPoints({{0, 0, 0}, {0.015, 0, 0}}, 0.01);
    if (!is_next) shared.AddPoints({{5, 0, 0}}, 0.01);
    Body second = shared.model.bodies[first];
    std::swap(second.points.nodes[0], second.points.nodes[1]);
    shared.model.bodies.push_back(std::move(second));
    EXPECT_TRUE(shared.Detect().empty()) << is_next;
  }
}

// Places four nodes as balls of 1 cm on a rigid and on a deforming table.
TEST(PointsInWorlds, NodesThatTouchByThemselvesAreDetectedLikeAnyBody) {
  for (const bool is_soft : {false, true}) {
    for (const bool points_first : {false, true}) {
      ContactWorld world;
      const auto add_points = [&] {
        return world.AddPoints({{0.031, 0.02, 0.011}, {-0.03, 0.02, 0.009}, {0, 0, 0.5}, {2, 0, 0}},
                               0.01);
      };
      const auto add_table = [&] {
        return is_soft ? world.AddSoft(MakeBoxSurface({1, 1, 0.2}, 3), At(0, 0, -0.1))
                       : world.AddRigid(Box{{0.5, 0.5, 0.1}}, At(0, 0, -0.1));
      };
      const int first = points_first ? add_points() : add_table();
      const int second = points_first ? add_table() : add_points();
      EXPECT_LT(first, second);
      const auto contacts = world.Detect();
      ASSERT_EQ(contacts.size(), 2u) << is_soft << points_first;
      double sum = 0;
      for (const ContactPoint& contact : contacts) {
        EXPECT_EQ((points_first ? contact.feature_a : contact.feature_b).kind,
                  ContactFeature::Kind::kPoint);
        EXPECT_NEAR(Normal(contact).z(), points_first ? -1 : 1, 1e-9);
        EXPECT_NEAR(contact.area, kPi * 1e-4, 1e-15);
        EXPECT_NEAR(std::abs(contact.gap), 1e-3, 1e-12);
        sum += contact.gap;
      }
      EXPECT_NEAR(sum, 0, 1e-12);
    }
  }
}

}  // namespace
}  // namespace pliant::physics
