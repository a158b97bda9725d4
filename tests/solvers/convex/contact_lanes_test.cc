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

// The expected impulse and slip speed give back the derivative of the law at the velocity at which
// they were found, whatever the present velocity is.
TEST(ContactLanes, ExpectedImpulseAndSlipGiveTheSlopeWhereTheyWereFound) {
  const Vector3d R(0.01, 0.01, 0.2);
  std::vector<ConvexProblem::Contact> contacts(3);
  const Vector3d found[3] = {{0.01, 0.005, 1.2}, {0.5, 1.2, 0.9}, {0.3, 0.1, -1.0}};
  std::vector<ConeProjection> projections;
  for (int c = 0; c < 3; ++c) {
    contacts[c].R = R;
    contacts[c].friction = 0.5;
    projections.push_back(ProjectOntoFrictionCone(found[c].cwiseQuotient(R), R, 0.5));
    contacts[c].expected = projections[c].gamma;
    // y_t is −v_t / R_t; the slip speed is R_t times the part of it that is beyond the cone
    contacts[c].expected_slip = found[c].head<2>().norm() - R.x() * 0.5 * projections[c].gamma.z();
  }
  ASSERT_EQ(projections[0].mode, ConeMode::kStick);
  ASSERT_EQ(projections[1].mode, ConeMode::kSlide);
  ASSERT_EQ(projections[2].mode, ConeMode::kOpen);
  ContactLanes lanes;
  lanes.Start(contacts, nullptr);
  for (int c = 0; c < 3; ++c) lanes.SetVelocity(c, Vector3d(-0.3, 0.2, 0.4));
  ASSERT_TRUE(lanes.ProjectExpected(contacts, ContactLanes::Slip::kAsExpected));
  // the two ways round differently
  for (int c = 0; c < 3; ++c)
    EXPECT_LT((lanes.G(c) - projections[c].G).norm(), 1e-13 * R.cwiseInverse().norm()) << c;
}

TEST(ContactLanes, ContactsWithoutFrictionAreNotPredictedToStick) {
  std::vector<ConvexProblem::Contact> contacts(1);
  contacts[0].R = {0.01, 0.01, 0.2};
  contacts[0].expected = {0, 0, 1};
  ContactLanes lanes;
  lanes.Start(contacts, nullptr);
  lanes.SetVelocity(0, Vector3d(1, 0, 0.1));
  ASSERT_TRUE(lanes.ProjectExpected(contacts, ContactLanes::Slip::kAsExpected));
  // the rest of a step that reverses its slip
  lanes.SetChange(0, Vector3d(2, 0, 0));
  ASSERT_TRUE(lanes.ProjectAhead(1));
  EXPECT_EQ(lanes.G(0)(0, 0), 0);
}

}  // namespace
}  // namespace pliant::solvers
