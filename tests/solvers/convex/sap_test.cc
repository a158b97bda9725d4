#include "solvers/convex/sap.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/problem/friction_cone.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

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
