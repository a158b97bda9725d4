#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kDegree = kPi / 180;

Vector3d Normal(const ContactPoint& point) { return point.R_WC.col(2); }

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

}  // namespace
}  // namespace pliant::physics
