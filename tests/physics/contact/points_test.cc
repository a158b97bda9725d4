#include <cmath>

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
