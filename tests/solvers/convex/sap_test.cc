#include "solvers/convex/sap.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/convex/contact_lanes.h"
#include "solvers/convex/friction_cone.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

double Cost(const Vector3d& y, const Vector3d& R, double mu) {
  const Vector3d gamma = ProjectImpulse(y, R, mu);
  return 0.5 * gamma.dot(R.cwiseProduct(gamma));
}

class FrictionConeTest : public ::testing::Test {
 protected:
  FrictionConeTest() : random_(5), uniform_(-1, 1) {}
  Vector3d RandomVector() { return {uniform_(random_), uniform_(random_), uniform_(random_)}; }
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_;
};

TEST_F(FrictionConeTest, ProjectionIsTheNearestPointOfTheConeInTheNormOfR) {
  const Vector3d R(0.3, 0.3, 0.07);
  for (const double mu : {0.0, 0.2, 1.0, 3.0}) {
    for (int k = 0; k < 300; ++k) {
      const Vector3d y = RandomVector();
      const Vector3d gamma = ProjectImpulse(y, R, mu);
      EXPECT_LE(gamma.head<2>().norm(), mu * gamma.z() * (1 + 1e-15) + 1e-300);
      // no other point of the cone is nearer
      const double distance = (gamma - y).dot(R.cwiseProduct(gamma - y));
      for (int l = 0; l < 20; ++l) {
        Vector3d other = gamma + 0.1 * RandomVector();
        other.z() = std::max(other.z(), 0.0);
        const double length = other.head<2>().norm();
        if (length > mu * other.z()) other.head<2>() *= mu * other.z() / length;
        EXPECT_GE((other - y).dot(R.cwiseProduct(other - y)), distance * (1 - 1e-12));
      }
    }
  }
}

TEST_F(FrictionConeTest, ImpulseIsTheGradientOfTheCostAndGItsDerivative) {
  const Vector3d R(0.02, 0.02, 0.1);
  const double mu = 0.6, d = 1e-6;
  int compared = 0;
  for (int k = 0; k < 500; ++k) {
    const Vector3d v = 0.1 * RandomVector();
    const ConeProjection p = ProjectOntoFrictionCone(-v.cwiseQuotient(R), R, mu);
    // away from kinks: the same mode on both sides
    bool smooth = true;
    Vector3d slope;
    Matrix3d G;
    for (int i = 0; i < 3; ++i) {
      const Vector3d e = d * Vector3d::Unit(i);
      const ConeProjection high = ProjectOntoFrictionCone(-(v + e).cwiseQuotient(R), R, mu);
      const ConeProjection low = ProjectOntoFrictionCone(-(v - e).cwiseQuotient(R), R, mu);
      smooth = smooth && high.mode == p.mode && low.mode == p.mode;
      slope[i] = (Cost(-(v + e).cwiseQuotient(R), R, mu) - Cost(-(v - e).cwiseQuotient(R), R, mu)) /
                 (2 * d);
      G.col(i) = -(high.gamma - low.gamma) / (2 * d);
    }
    EXPECT_LT((slope + p.gamma).norm(), 1e-7 * (1 + p.gamma.norm()));
    EXPECT_LT((p.G - p.G.transpose()).norm(), 1e-12 * (1 + p.G.norm()));
    EXPECT_GE(Eigen::SelfAdjointEigenSolver<Matrix3d>(p.G).eigenvalues()[0], -1e-10);
    if (smooth) {
      EXPECT_LT((p.G - G).norm(), 1e-4 * (1 + G.norm()));
      ++compared;
    }
  }
  EXPECT_GT(compared, 450);
}

TEST_F(FrictionConeTest, SlidingImpulseLiesOnTheConeAndOpposesSlip) {
  const Vector3d R(1e-3, 1e-3, 1e-2);
  for (int k = 0; k < 500; ++k) {
    Vector3d v = RandomVector();
    v.z() = -std::abs(v.z());
    const ConeProjection p = ProjectOntoFrictionCone(-v.cwiseQuotient(R), R, 0.5);
    if (p.mode != ConeMode::kSlide) continue;
    EXPECT_NEAR(p.gamma.head<2>().norm(), 0.5 * p.gamma.z(), 1e-12 * p.gamma.z());
    EXPECT_NEAR(p.gamma.head<2>().normalized().dot(v.head<2>().normalized()), -1, 1e-12);
  }
}

TEST_F(FrictionConeTest, LanesGiveTheBitsOfOneContactAtATime) {
  // every mode, in more contacts than lanes
  std::vector<ConvexProblem::Contact> contacts(11);
  for (ConvexProblem::Contact& contact : contacts) {
    const double R_t = 0.01 + std::abs(uniform_(random_));
    contact.R = {R_t, R_t, 0.01 + std::abs(uniform_(random_))};
    contact.friction = std::max(0.0, uniform_(random_));
  }
  ContactLanes lanes;
  lanes.Start(contacts, nullptr);
  const auto index = [](std::size_t c) { return static_cast<int>(c); };
  for (int k = 0; k < 100; ++k) {
    std::vector<Vector3d> velocities, changes;
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      velocities.push_back(RandomVector());
      changes.push_back(RandomVector());
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
    // sums in another order
    EXPECT_NEAR(cost, sum, 1e-14 * sum);
    EXPECT_NEAR(lanes.CalcCost(0), sum, 1e-14 * sum);
    EXPECT_NEAR(here.slope, slope, 1e-14 * scale);
    EXPECT_NEAR(here.curvature, curvature, 1e-13 * curvature);
    // and a change of v_c lowers y
    lanes.Advance(1e-6);
    EXPECT_NEAR(lanes.Project(), lanes.CalcCost(0), 1e-14 * sum);
    EXPECT_NEAR(lanes.CalcSlope(0).slope, ahead.slope, 1e-13 * scale);
  }
}

// Bodies of random dense inertia in a chain of contacts.
class SapTest : public ::testing::TestWithParam<SapOptions::LineSearch> {
 protected:
  SapTest() {
    std::mt19937 random(9);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const int bodies = 6, size = 9;
    AddRandomBodies(bodies, size, 0.1, &random, &A_, &problem_);
    for (int c = 0; c < 20; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-3, 1e-3, 0.02};
      contact.v_hat = {0, 0, 0.1 * uniform(random)};
      contact.bias = Vector3d::Zero();
      contact.friction = c % 4 == 0 ? 0 : 0.5;
      contact.first_entry = static_cast<int>(problem_.entries.size());
      contact.num_entries = 2;
      for (int side = 0; side < 2; ++side) {
        const int body = (c + side) % bodies;
        problem_.entries.push_back({body * size + c % 4, 5, values_.size()});
        for (int i = 0; i < 15; ++i) values_.push_back(uniform(random));
      }
      problem_.contacts.push_back(contact);
    }
    problem_.values = values_;
  }

  std::vector<Eigen::MatrixXd> A_;
  std::vector<double> values_;
  ConvexProblem problem_;
};

TEST_P(SapTest, CostFallsMonotonicallyAndTheSolutionIsOptimal) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-10;
  const SapResult result = SolveSap(problem_, problem_.v_star, options);
  ASSERT_TRUE(result.converged);
  EXPECT_GT(result.iterations, 1);
  for (std::size_t k = 1; k < result.costs.size(); ++k) {
    EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
  }

  // A (v − v*) = Jᵀγ, and every impulse is the projection at its own velocity and inside its cone
  std::vector<double> impulse(problem_.size, 0.0);
  for (std::size_t c = 0; c < problem_.contacts.size(); ++c) {
    const auto& contact = problem_.contacts[c];
    const Vector3d v_c = problem_.ContactVelocity(static_cast<int>(c), result.v);
    const Vector3d gamma =
        ProjectImpulse((contact.v_hat - v_c).cwiseQuotient(contact.R), contact.R, contact.friction);
    // v_c sums ten products of order one in another order: so many roundings, over R_t
    EXPECT_LT((gamma - result.gamma[c]).norm(), 10 * 2.3e-16 / contact.R.x());
    EXPECT_LE(gamma.head<2>().norm(), contact.friction * gamma.z() * (1 + 1e-12));
    problem_.AddContactImpulse(static_cast<int>(c), gamma, impulse);
  }
  double error = 0, size = 0;
  for (const auto& block : problem_.blocks) {
    const Eigen::Map<const Eigen::MatrixXd> A(block.A, block.size, block.size);
    const Eigen::Map<const Eigen::VectorXd> v(&result.v[block.first], block.size);
    const Eigen::Map<const Eigen::VectorXd> v_star(&problem_.v_star[block.first], block.size);
    const Eigen::Map<const Eigen::VectorXd> j(&impulse[block.first], block.size);
    error += (A * (v - v_star) - j).squaredNorm();
    size += j.squaredNorm();
  }
  EXPECT_LT(std::sqrt(error / size), 1e-9);
}

TEST_P(SapTest, TheSolutionDoesNotDependOnTheGuess) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-11;
  const SapResult a = SolveSap(problem_, problem_.v_star, options);
  const SapResult b = SolveSap(problem_, std::vector<double>(problem_.size, 3.0), options);
  ASSERT_TRUE(a.converged && b.converged);
  for (int i = 0; i < problem_.size; ++i) EXPECT_NEAR(a.v[i], b.v[i], 1e-8);
}

TEST_P(SapTest, WhatContactsAreExpectedToExertSavesIterationsAndChangesNoSolution) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-11;
  SapResult before = SolveSap(problem_, problem_.v_star, options);
  // by the next step everything has moved a little: velocities that stuck seem to slide
  for (double& v : problem_.v_star) v *= 1.02;
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& v : before.v) v += 0.02 * uniform(random);
  const SapResult unaided = SolveSap(problem_, before.v, options);

  // what the last step told, and nonsense
  for (const double sense : {1.0, 0.0}) {
    for (std::size_t c = 0; c < problem_.contacts.size(); ++c) {
      problem_.contacts[c].expected =
          sense > 0 ? before.gamma[c] : Vector3d(0.1, -2, 1 + static_cast<double>(c % 3));
    }
    const SapResult result = SolveSap(problem_, before.v, options);
    ASSERT_TRUE(result.converged && unaided.converged);
    if (sense > 0) {
      EXPECT_LT(result.iterations, unaided.iterations);
    }
    for (std::size_t k = 1; k < result.costs.size(); ++k) {
      EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
    }
    for (int i = 0; i < problem_.size; ++i) EXPECT_NEAR(result.v[i], unaided.v[i], 1e-8);
  }
}

TEST_P(SapTest, AnIterationBudgetThatIsTooSmallIsReported) {
  SapOptions options;
  options.line_search = GetParam();
  options.max_iterations = 1;
  const SapResult result = SolveSap(problem_, std::vector<double>(problem_.size, 3.0), options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_GT(result.residual, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(LineSearches, SapTest,
                         ::testing::Values(SapOptions::LineSearch::kExact,
                                           SapOptions::LineSearch::kBacktracking));

}  // namespace
}  // namespace pliant::solvers
