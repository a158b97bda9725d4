#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

ContactWorld MakePolygonWorld() {
  ContactWorld world;
  world.model.contact.patches = ContactParameters::Patches::kPolygons;
  return world;
}

// Point of a soft side, interpolated with its weights.
Vector3d PointOf(const ContactWorld& world, const Attachment& side) {
  const double* q = world.state.q.data() + world.model.position_offsets[side.block];
  Vector3d p = Vector3d::Zero();
  for (int k = 0; k < side.nodes.size(); ++k) {
    const double* x = q + 3 * side.nodes.node(k);
    p += side.nodes.weight(k) * Vector3d(x[0], x[1], x[2]);
  }
  return p;
}

double SumAreas(const std::vector<ContactPoint>& contacts) {
  double sum = 0;
  for (const ContactPoint& point : contacts) sum += point.area;
  return sum;
}

TEST(Patches, BoxOnHalfSpaceIsItsBottomExactly) {
  for (double gap : {1e-3, 0.0, -1e-4}) {
    ContactWorld world = MakePolygonWorld();
    world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
    world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 4), At(0, 0, 0.1 + gap));
    const auto contacts = world.Detect();
    Vector3d moment = Vector3d::Zero();
    double bottom = 0;
    for (const ContactPoint& point : contacts) {
      if (std::abs(point.gap - gap) > 1e-12)
        continue;  // skip the foot of a wall, a strip as high as a tenth of the margin
      EXPECT_EQ(Normal(point), Vector3d::UnitZ());
      EXPECT_NEAR((PointOf(world, point.b) - point.b.p_W).norm(), 0, 1e-15);
      bottom += point.area;
      moment += point.area * point.p_W;
    }
    EXPECT_NEAR(bottom, 0.04, 1e-15);
    EXPECT_NEAR(moment.head<2>().norm(), 0, 1e-15);
  }
}

// Sides flush with those of the supporting box, and parts that hang over its edge, must not be
// pushed sideways: such forces would jam with friction and throw the body off.
TEST(Patches, BlockThatStandsFlushOnABoxIsPressedUpwardsOnly) {
  for (const int divisions : {1, 2, 3}) {
    for (const double offset : {0.0, 0.03}) {
      ContactWorld world = MakePolygonWorld();
      world.model.contact.patch_divisions = divisions;
      world.AddRigid(Box{{0.1, 0.1, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
      world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 2), At(offset, 1e-5, 0.1 - 2e-3));
      const auto contacts = world.Detect();
      EXPECT_FALSE(contacts.empty());
      for (const ContactPoint& point : contacts) {
        EXPECT_GT(Normal(point).z(), 0.9) << divisions << " at " << point.p_W.transpose();
      }
    }
  }
}

TEST(Patches, DividedTrianglesCoverWhatWholeOnesDo) {
  for (const bool is_soft : {false, true}) {
    std::size_t whole = 0;
    for (const int divisions : {1, 2, 3}) {
      ContactWorld world = MakePolygonWorld();
      world.model.contact.patch_divisions = divisions;
      if (is_soft) {
        world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 2), At(0, 0, -0.1));
      } else {
        world.AddRigid(Box{{0.2, 0.2, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
      }
      world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 2), At(0, 0, 0.1 - 1e-4));
      const auto contacts = world.Detect();
      double area = 0;
      std::size_t count = 0;
      Vector3d moment = Vector3d::Zero();
      std::set<std::uint64_t> keys;
      for (const ContactPoint& point : contacts) {
        keys.insert(point.key);
        if (std::abs(point.gap + 1e-4) > 1e-12) continue;  // skip the feet of walls
        ++count;
        area += point.area;
        moment += point.area * point.p_W;
        EXPECT_NEAR((PointOf(world, point.b) - point.p_W).norm(), 0, 1e-4);
      }
      EXPECT_EQ(keys.size(), contacts.size());
      EXPECT_NEAR(area, 0.04, 1e-12) << is_soft << " " << divisions;
      EXPECT_NEAR(moment.head<2>().norm(), 0, 1e-12);
      if (divisions == 1) whole = count;
      // pieces of one triangle may touch several triangles of the other body
      EXPECT_GE(count, whole * divisions * divisions);
    }
  }
}

// One point describes only the deepest part of a triangle; sixty-four show how the gap grows over
// it.
TEST(Patches, DividedTriangleKnowsHowTheGapGrowsOverIt) {
  for (const int divisions : {1, 8}) {
    ContactWorld world = MakePolygonWorld();
    world.model.contact.patch_divisions = divisions;
    world.AddRigid(Box{{1, 1, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
    TriangleMesh leaning = MakeBoxSurface({0.2, 0.2, 0.2}, 1);
    for (Vector3d& p : leaning.vertices) p.z() += 0.009 * (p.x() + 0.1);
    world.AddSoft(leaning, At(0, 0, 0.1));
    double farthest = 0;
    for (const ContactPoint& point : world.Detect()) {
      const double along = point.p_W.x() + 0.1;
      const bool is_foot_of_a_wall = std::abs(point.gap - 0.009 * along) > 1e-9;
      if (!is_foot_of_a_wall) farthest = std::max(farthest, along);
    }
    if (divisions == 1) {
      EXPECT_LT(farthest, 0.03);
    } else {
      EXPECT_GT(farthest, 0.15);
    }
  }
}

// The gap is measured on the deformed surface; the soft bodies here are strongly stretched and
// sheared.
TEST(Patches, GapIsTheExactDistanceOfTheCentroidFromEveryShapeAtAnyDeformation) {
  const TriangleMesh block = MakeBoxSurface({0.06, 0.05, 0.04}, 2);
  const std::vector<Geometry> shapes = {
      HalfSpace{},
      Box{{0.1, 0.1, 0.05}},
      Sphere{0.05},
      Capsule{0.03, 0.06},
      Cylinder{0.04, 0.06},
      Ellipsoid{{0.06, 0.05, 0.04}},
      ConvexMesh{std::make_shared<TriangleMesh>(block)},
      SurfaceMesh{std::make_shared<TriangleMesh>(block), std::make_shared<TriangleBvh>(block)}};
  TriangleMesh ball = MakeBallSurface(0.05, 3);
  Eigen::Matrix3d F;
  F << 2.5, 0.8, 0, -0.3, 0.6, 0.4, 0, 0.7, 0.5;
  for (const bool is_deformed : {false, true}) {
    TriangleMesh soft = ball;
    if (is_deformed)
      for (Vector3d& p : soft.vertices) p = F * p;
    for (const Geometry& shape : shapes) {
      // lowest point 1 mm below the shape's highest point
      const double top = std::holds_alternative<HalfSpace>(shape)
                             ? 0
                             : CalcBounds(shape, RigidTransform()).upper.z();
      const Vector3d bottom = *std::min_element(
          soft.vertices.begin(), soft.vertices.end(),
          [](const Vector3d& p, const Vector3d& other) { return p.z() < other.z(); });
      ContactWorld world = MakePolygonWorld();
      world.AddRigid(shape, {}, Motion::kFixed);
      world.AddSoft(soft,
                    {Eigen::Matrix3d::Identity(), Vector3d(0.001, 0.002, top - 1e-3) - bottom});
      const auto contacts = world.Detect();
      EXPECT_FALSE(contacts.empty()) << shape.index();
      for (const ContactPoint& point : contacts) {
        const SignedDistance field = CalcSignedDistance(shape, PointOf(world, point.b));
        // the normal is tilted, and the gap differs, where the shape enters between vertices
        EXPECT_LE(std::abs(point.gap - field.distance), 0.7 * std::abs(field.distance) + 1e-12);
        if (Normal(point).dot(field.gradient) > 1 - 1e-12) {
          EXPECT_NEAR(point.gap, field.distance, 1e-12) << shape.index();
        }
        // the normal may be perpendicular to the gradient where the shape's side lies beside the
        // triangle
        EXPECT_GE(Normal(point).dot(field.gradient), 0);
        EXPECT_GT(point.area, 0);
        EXPECT_NEAR((PointOf(world, point.b) - point.b.p_W).norm(), 0, 1e-12);
      }
    }
  }
}

TEST(Patches, TwoSoftBoxesShareTheAreaOfTheSmallerWhateverTheirMeshes) {
  for (double gap : {1e-3, 0.0, -1e-3}) {
    ContactWorld world = MakePolygonWorld();
    world.AddSoft(MakeBoxSurface({0.4, 0.4, 0.2}, 5), At(0, 0, -0.1));
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0.0171, 0.0233, 0.05 + gap));
    const auto contacts = world.Detect();
    EXPECT_NEAR(SumAreas(contacts), 0.01, 1e-14);
    for (const ContactPoint& point : contacts) {
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-14);
      EXPECT_NEAR(point.gap, gap, 1e-14);
      EXPECT_NEAR(Normal(point).dot(PointOf(world, point.b) - PointOf(world, point.a)), gap, 1e-13);
    }
  }
}

TEST(Patches, SmallBallInALargeTriangleHasOnePatchAroundIt) {
  ContactWorld world = MakePolygonWorld();
  world.AddSoft(MakeBoxSurface({0.2, 0.2, 0.2}, 1), At(0, 0, 0));
  world.AddRigid(Sphere{0.005}, At(0.05, 0.02, 0.1 + 0.005 - 1e-3));
  const auto contacts = world.Detect();
  ASSERT_EQ(contacts.size(), 1u);
  EXPECT_NEAR((Normal(contacts[0]) - Vector3d::UnitZ()).norm(), 0, 1e-9);
  EXPECT_LT((contacts[0].p_W - Vector3d(0.05, 0.02, 0.1)).norm(), 5e-3);
  EXPECT_LT(contacts[0].area, 0.02);
}

TEST(Patches, KeysStayWhileTheSameTrianglesTouch) {
  std::set<std::uint64_t> keys;
  for (const double shift : {0.0, 1e-5, 2e-5}) {
    ContactWorld world = MakePolygonWorld();
    world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(shift, 0, 0.05 - 1e-5));
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 2), At(2 * shift, 0.013, 0.15 - 1e-5));
    std::set<std::uint64_t> now;
    for (const ContactPoint& point : world.Detect()) EXPECT_TRUE(now.insert(point.key).second);
    if (keys.empty()) keys = now;
    EXPECT_EQ(keys, now);
  }
}

bool IsSound(const ContactPoint& point) {
  double sum_a = 0, sum_b = 0;
  for (int k = 0; k < point.a.nodes.size(); ++k) sum_a += point.a.nodes.weight(k);
  for (int k = 0; k < point.b.nodes.size(); ++k) sum_b += point.b.nodes.weight(k);
  return std::isfinite(point.gap) && point.p_W.allFinite() && point.R_WC.allFinite() &&
         std::isfinite(point.area) && point.area >= 0 &&
         std::abs(point.R_WC.determinant() - 1) < 1e-9 &&
         (point.a.nodes.size() == 0 || std::abs(sum_a - 1) < 1e-9) &&
         (point.b.nodes.size() == 0 || std::abs(sum_b - 1) < 1e-9);
}

// Flat triangles, triangles without area, inverted surfaces and coincident vertices still give
// finite, valid contacts.
TEST(BadGeometry, ContactsOfSpoiltSurfacesAreSound) {
  for (const auto patches :
       {ContactParameters::Patches::kVertices, ContactParameters::Patches::kPolygons}) {
    for (int kind = 0; kind < 4; ++kind) {
      TriangleMesh soft = MakeBallSurface(0.05, 2);
      if (kind == 0) {
        // move one vertex onto its neighbour, so that two triangles vanish
        soft.vertices[soft.triangles[0][0]] = soft.vertices[soft.triangles[0][1]];
      } else if (kind == 1) {
        // flatten into a plane
        for (Vector3d& p : soft.vertices) p.z() = 0;
      } else if (kind == 2) {
        // turn inside out
        for (auto& t : soft.triangles) std::swap(t[0], t[1]);
      } else {
        // collapse into a point
        for (Vector3d& p : soft.vertices) p = Vector3d(0, 0, -0.05);
      }
      ContactWorld world;
      world.model.contact.patches = patches;
      world.AddRigid(Box{{0.2, 0.2, 0.05}}, At(0, 0, -0.1), Motion::kFixed);
      world.AddRigid(Sphere{0.005}, At(0.01, 0, 0.0495));
      world.AddSoft(soft, At(0, 0, 0));
      world.AddSoft(MakeBallSurface(0.05, 2), At(0, 0.01, kind == 1 ? 0.0495 : 0.0995));
      for (const ContactPoint& point : world.Detect())
        EXPECT_TRUE(IsSound(point))
            << "kind " << kind << ", bodies " << point.body_a << " " << point.body_b << ", gap "
            << point.gap << ", normal " << Normal(point).transpose() << ", weights "
            << point.a.nodes.weight(0) << " " << point.b.nodes.weight(0);
    }
  }
}

TEST(BadGeometry, ThousandsOfContactsBetweenTwoFineSurfacesAreFoundOnceEach) {
  ContactWorld world;
  world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
  const TriangleMesh fine = MakeBallSurface(0.05, 5);  // 20480 triangles, flattened below
  TriangleMesh flat = fine;
  for (Vector3d& p : flat.vertices) p.z() = std::max(p.z(), -0.02);
  world.AddSoft(flat, At(0, 0, 0.02 - 1e-4));
  TriangleMesh lid = fine;
  for (Vector3d& p : lid.vertices) p.z() = std::max(p.z(), 0.0);
  world.AddSoft(lid, At(0, 0, 0.0695));
  const auto contacts = world.Detect();
  EXPECT_GT(contacts.size(), 2000u);
  std::set<std::uint64_t> keys;
  for (const ContactPoint& point : contacts) {
    EXPECT_TRUE(IsSound(point));
    EXPECT_TRUE(keys.insert(point.key).second);
  }
}

}  // namespace
}  // namespace pliant::physics
