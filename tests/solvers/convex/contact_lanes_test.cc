#include "solvers/convex/contact_lanes.h"

#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

TEST(ContactLanes, GiveTheBitsOfOneContactAtATime) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto random_vector = [&] {
    return Vector3d(uniform(random), uniform(random), uniform(random));
  };
  // all modes, with more contacts than lanes
  std::vector<ConvexProblem::Contact> contacts(11);
  for (ConvexProblem::Contact& contact : contacts) {
    const double R_t = 0.01 + std::abs(uniform(random));
    contact.R = {R_t, R_t, 0.01 + std::abs(uniform(random))};
    contact.friction = std::max(0.0, uniform(random));
  }
  ContactLanes lanes;
  lanes.Start(contacts, nullptr);
  const auto index = [](std::size_t c) { return static_cast<int>(c); };
  for (int k = 0; k < 100; ++k) {
    std::vector<Vector3d> velocities, changes;
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      velocities.push_back(random_vector());
      changes.push_back(random_vector());
      lanes.SetVelocity(index(c), velocities[c]);
      lanes.SetChange(index(c), changes[c]);
    }
    const double cost = lanes.Project();
    const ContactLanes::Slope here = lanes.CalcSlope(0), ahead = lanes.CalcSlope(1e-6);
    double sum = 0, slope = 0, curvature = 0, scale = 0;
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      const Vector3d& R = contacts[c].R;
      const ConeProjection p =
          ProjectOntoFrictionCone(velocities[c].cwiseQuotient(R), R, contacts[c].friction);
      EXPECT_EQ(lanes.gamma(index(c)), p.gamma);
      EXPECT_EQ(lanes.G(index(c)), p.G);
      EXPECT_EQ(lanes.is_open(index(c)), p.mode == ConeMode::kOpen);
      sum += 0.5 * p.gamma.dot(R.cwiseProduct(p.gamma));
      slope -= changes[c].dot(p.gamma);
      curvature += changes[c].dot(p.G * changes[c]);
      scale += changes[c].norm() * p.gamma.norm();
    }
    // the sums are taken in a different order
    EXPECT_NEAR(cost, sum, 1e-14 * sum);
    EXPECT_NEAR(lanes.CalcCost(0), sum, 1e-14 * sum);
    EXPECT_NEAR(here.slope, slope, 1e-14 * scale);
    EXPECT_NEAR(here.curvature, curvature, 1e-13 * curvature);
    // y decreases as v_c increases
    lanes.Advance(1e-6);
    EXPECT_NEAR(lanes.Project(), lanes.CalcCost(0), 1e-14 * sum);
    EXPECT_NEAR(lanes.CalcSlope(0).slope, ahead.slope, 1e-13 * scale);
  }
}

}  // namespace
}  // namespace pliant::solvers
