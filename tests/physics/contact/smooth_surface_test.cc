#include <algorithm>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using Patches = ContactParameters::Patches;

// A cone whose tip, vertex 0, is at the origin and points along −z.
TriangleMesh MakeCone() {
  TriangleMesh mesh{{Vector3d::Zero()}, {}};
  constexpr int kSides = 6;
  for (int i = 0; i < kSides; ++i) {
    const double angle = 2 * kPi * i / kSides;
    mesh.vertices.emplace_back(0.01 * std::cos(angle), 0.01 * std::sin(angle), 0.05);
  }
  for (int i = 0; i < kSides; ++i) {
    const int next = 1 + (i + 1) % kSides;
    mesh.triangles.push_back({0, next, 1 + i});
    if (i > 0 && next > 1) mesh.triangles.push_back({1, 1 + i, next});
  }
  return mesh;
}

constexpr double kBallRadius = 0.05;

// A ball at the origin, and a cone whose tip is `height` above its sphere.
class ConeOnBall {
 public:
  ConeOnBall(Patches patches, int levels, double margin = 0.004) {
    world_.model.contact.patches = patches;
    world_.model.contact.margin = margin;
    world_.AddSoft(MakeBallSurface(kBallRadius, levels), At(0, 0, 0));
    cone_ = MakeCone();
    world_.AddSoft(cone_, At(0, 0, 0));
  }

  // The contact of the tip in a direction from the centre of the ball.
  std::optional<ContactPoint> Touch(const Vector3d& direction, double height) {
    const Eigen::Matrix3d R =
        Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), direction).toRotationMatrix();
    const std::size_t first = world_.state.q.size() - 3 * cone_.vertices.size();
    for (std::size_t i = 0; i < cone_.vertices.size(); ++i) {
      Vector3d::Map(world_.state.q.data() + first + 3 * i) =
          R * cone_.vertices[i] + (kBallRadius + height) * direction;
    }
    for (const ContactPoint& point : world_.Detect())
      if (point.b.nodes.size() == 1 && point.b.nodes.node(0) == 0) return point;
    return std::nullopt;
  }

 private:
  ContactWorld world_;
  TriangleMesh cone_;
};

Vector3d PathAt(double angle) {
  // a great circle that passes through no vertex
  const Vector3d x = Vector3d(0.31, 0.52, 0.79).normalized();
  const Vector3d y = x.cross(Vector3d(0.7, -0.2, 0.4)).normalized();
  return std::cos(angle) * x + std::sin(angle) * y;
}

// The largest change of the normal from one contact to the next [rad] while the tip slides over the
// ball, in steps of a quarter of a milliradian.
double FindLargestTurn(Patches patches) {
  ConeOnBall world(patches, 2);
  double largest = 0;
  Vector3d last = Vector3d::Zero();
  for (int i = 0; i <= 2000; ++i) {
    const auto point = world.Touch(PathAt(2.5e-4 * i), 1e-3);
    if (!point.has_value()) {
      ADD_FAILURE() << "no contact at " << i;
      continue;
    }
    if (i > 0) largest = std::max(largest, (Normal(*point) - last).norm());
    last = Normal(*point);
  }
  return largest;
}

TEST(SmoothSurface, NormalsAreContinuousAcrossTriangles) {
  // 320 triangles meet at angles of about 10 degrees
  EXPECT_GT(FindLargestTurn(Patches::kVertices), 0.05);
  EXPECT_LT(FindLargestTurn(Patches::kSmooth), 0.003);
}

TEST(SmoothSurface, TheChangeOfTheNormalFollowsTheStep) {
  ConeOnBall world(Patches::kSmooth, 2);
  // in steps ten times as small, changes are ten times as small everywhere
  double largest = 0;
  Vector3d last = Vector3d::Zero();
  for (int i = 0; i <= 5000; ++i) {
    const auto point = world.Touch(PathAt(2.5e-5 * i), 1e-3);
    ASSERT_TRUE(point.has_value()) << i;
    if (i > 0) largest = std::max(largest, (Normal(*point) - last).norm());
    last = Normal(*point);
  }
  EXPECT_LT(largest, 5e-4);
}

TEST(SmoothSurface, LiesNearTheBall) {
  ConeOnBall world(Patches::kSmooth, 2);
  // triangles lie up to 0.65 mm below the ball of 50 mm, their edges up to 0.5 mm;
  // over the triangles, the surface lies up to 0.05 mm above it
  for (int i = 0; i <= 400; ++i) {
    const auto point = world.Touch(PathAt(1.3e-3 * i), 1e-3);
    ASSERT_TRUE(point.has_value()) << i;
    EXPECT_GT(point->gap, 0.94e-3) << i;
    EXPECT_LT(point->gap, 1.56e-3) << i;
    EXPECT_GT(Normal(*point).dot(PathAt(1.3e-3 * i)), 0.994) << i;
  }
}

TEST(SmoothSurface, IsMetAtTheMarginOverCoarseTrianglesToo) {
  // the middle of a triangle lies some 2.5 mm below the ball, and more than the margin below the
  // smooth surface
  const TriangleMesh ball = MakeBallSurface(kBallRadius, 1);
  const auto& t = ball.triangles[0];
  const Vector3d middle =
      (ball.vertices[t[0]] + ball.vertices[t[1]] + ball.vertices[t[2]]).normalized();
  constexpr double kMargin = 5e-4;
  ConeOnBall world(Patches::kSmooth, 1, kMargin);
  std::optional<ContactPoint> first;
  for (double height = 2e-3; height > -4e-3 && !first.has_value(); height -= 2e-5)
    first = world.Touch(middle, height);
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(first->gap, 0.9 * kMargin);
}

TEST(SmoothSurface, FlatSidesAndSharpEdgesStayAsTheyAre) {
  for (double gap : {1e-3, 1e-6, -1e-6, -1e-3}) {
    ContactWorld world;
    world.model.contact.patches = Patches::kSmooth;
    world.AddSoft(MakeBoxSurface({0.4, 0.4, 0.2}, 5), At(0, 0, -0.1));
    // some vertices lie beside the border of the lower box by less than an edge
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(0.149, 0.03, 0.05 + gap));
    int of_upper = 0;
    for (const ContactPoint& point : world.Detect()) {
      EXPECT_NEAR((Normal(point) - Vector3d::UnitZ()).norm(), 0, 1e-12);
      EXPECT_NEAR(point.gap, gap, 1e-15);
      of_upper += point.b.nodes.size() == 1;
    }
    EXPECT_EQ(of_upper, 16) << gap;
  }
}

TEST(SmoothSurface, BitsDoNotDependOnEarlierDetections) {
  ContactWorld world;
  world.model.contact.patches = Patches::kSmooth;
  const TriangleMesh ball = MakeBallSurface(kBallRadius, 2);
  world.AddSoft(ball, At(0, 0, 0));
  world.AddSoft(ball, Posed({0.02, 0.03, 0.092}, {0.3, -0.2, 0.1}));
  world.model.Finish();
  // a detector whose trees are those of squashed balls
  State squashed = world.state;
  for (std::size_t i = 0; i < squashed.q.size(); i += 3) {
    squashed.q[i] *= 0.2;
    squashed.q[i + 1] *= 3;
  }
  ContactDetector used(world.model);
  used.Detect(squashed, 0.01);
  const auto fresh = ContactDetector(world.model).Detect(world.state, 0.01),
             again = used.Detect(world.state, 0.01);
  ASSERT_GT(fresh.size(), 4u);
  ASSERT_EQ(fresh.size(), again.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    EXPECT_EQ(fresh[i].key, again[i].key);
    EXPECT_EQ(fresh[i].gap, again[i].gap);
    EXPECT_EQ(fresh[i].R_WC, again[i].R_WC);
    EXPECT_EQ(fresh[i].p_W, again[i].p_W);
  }
}

}  // namespace
}  // namespace pliant::physics
