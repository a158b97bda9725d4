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
    AddRandomBodies(bodies, size, 0.1, &random, &A_, &whole_);
    for (int c = 0; c < 20; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-3, 1e-3, 0.02};
      contact.v_hat = {0, 0, 0.1 * uniform(random)};
      contact.friction = c % 4 == 0 ? 0 : 0.5;
      whole_.AddContact(contact);
      for (int side = 0; side < 2; ++side) {
        const int body = (c + side) % bodies;
        whole_.AddContactEntry(body * size + c % 4, 5, [&] { return uniform(random); });
      }
    }
  }

  std::vector<Eigen::MatrixXd> A_;
  WholeProblem whole_;
};

TEST_P(SapTest, CostFallsMonotonicallyAndTheSolutionIsOptimal) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-10;
  const SapResult result = whole_.Solve(whole_.v_star(), options);
  ASSERT_TRUE(result.converged);
  EXPECT_GT(result.iterations, 1);
  for (std::size_t k = 1; k < result.costs.size(); ++k) {
    EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
  }

  // A (v − v*) = Jᵀγ, and every impulse is the projection at its own velocity and lies inside its
  // cone
  SapResult projected = result;
  for (std::size_t c = 0; c < result.gamma.size(); ++c) {
    const ConvexProblem::Contact& contact = whole_.problem.contacts[c];
    const Vector3d v_c = CalcContactVelocity(whole_.system, static_cast<int>(c), result.v);
    const Vector3d gamma =
        ProjectImpulse((contact.v_hat - v_c).cwiseQuotient(contact.R), contact.R, contact.friction);
    // v_c sums ten products of order one in a different order: as many roundings, over R_t
    EXPECT_LT((gamma - result.gamma[c]).norm(), 10 * 2.3e-16 / contact.R.x());
    EXPECT_LE(gamma.head<2>().norm(), contact.friction * gamma.z() * (1 + 1e-12));
    projected.gamma[c] = gamma;
  }
  const std::vector<double> impulse = whole_.CalcImpulse(projected);
  double error = 0, size = 0;
  for (const auto& block : whole_.system.blocks) {
    const Eigen::Map<const Eigen::MatrixXd> A(block.A.dense.data(), block.size, block.size);
    const Eigen::Map<const Eigen::VectorXd> v(&result.v[block.first], block.size);
    const Eigen::Map<const Eigen::VectorXd> v_star(&whole_.v_star()[block.first], block.size);
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
  const SapResult a = whole_.Solve(whole_.v_star(), options);
  const SapResult b = whole_.Solve(std::vector<double>(whole_.size(), 3.0), options);
  ASSERT_TRUE(a.converged && b.converged);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(a.v[i], b.v[i], 1e-8);
}

TEST_P(SapTest, SolvesAgainWithAnotherRegularisation) {
  SapOptions rough, fine;
  rough.line_search = fine.line_search = GetParam();
  rough.relative_tolerance = 0.1;
  fine.relative_tolerance = 1e-11;
  const WholeIsland whole(whole_.system);
  ConvexProblem& problem = whole_.problem;
  problem.island = whole.view();
  SapSolver solver;
  SapResult result;
  solver.Solve(problem, whole_.v_star(), rough, &result);
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    problem.contacts[c].expected = result.gamma[c];
    if (c % 3 == 0) problem.contacts[c].R.z() = 1e-4;
  }
  solver.SolveRegularised(fine, &result);
  ASSERT_TRUE(result.converged);
  SapSolver another;
  SapResult direct;
  another.Solve(problem, whole_.v_star(), fine, &direct);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(result.v[i], direct.v[i], 1e-8);
}

TEST_P(SapTest, WhatContactsAreExpectedToExertSavesIterationsAndChangesNoSolution) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-11;
  SapResult before = whole_.Solve(whole_.v_star(), options);
  // by the next step everything has moved a little, so sticking contacts seem to slide
  for (double& v : whole_.system.v_star) v *= 1.02;
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& v : before.v) v += 0.02 * uniform(random);
  const SapResult unaided = whole_.Solve(before.v, options);

  // expect the last step's impulses, or arbitrary ones
  for (const double sense : {1.0, 0.0}) {
    for (std::size_t c = 0; c < before.gamma.size(); ++c) {
      whole_.problem.contacts[c].expected =
          sense > 0 ? before.gamma[c] : Vector3d(0.1, -2, 1 + static_cast<double>(c % 3));
    }
    const SapResult result = whole_.Solve(before.v, options);
    ASSERT_TRUE(result.converged && unaided.converged);
    if (sense > 0) {
      EXPECT_LT(result.iterations, unaided.iterations);
    }
    for (std::size_t k = 1; k < result.costs.size(); ++k) {
      EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
    }
    for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(result.v[i], unaided.v[i], 1e-8);
  }
}

TEST_P(SapTest, ExpectedImpulsesReplaceARoughGuess) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-11;
  const SapResult before = whole_.Solve(whole_.v_star(), options);
  for (double& v : whole_.system.v_star) v *= 1.02;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> guess = before.v;
  for (double& v : guess) v += uniform(random);

  // expect the last step's impulses, or arbitrary ones
  for (const double sense : {1.0, 0.0}) {
    for (std::size_t c = 0; c < before.gamma.size(); ++c) {
      whole_.problem.contacts[c].expected =
          sense > 0 ? before.gamma[c] : Vector3d(0.1, -2, static_cast<double>(c % 3));
      const Vector3d v_c = CalcContactVelocity(whole_.system, static_cast<int>(c), before.v);
      whole_.problem.contacts[c].expected_slip = sense > 0 ? v_c.head<2>().norm() : 0.3;
    }
    whole_.problem.has_rough_guess = false;
    const SapResult from_guess = whole_.Solve(guess, options);
    whole_.problem.has_rough_guess = true;
    const SapResult result = whole_.Solve(guess, options);
    ASSERT_TRUE(result.converged && from_guess.converged);
    if (sense > 0) {
      EXPECT_LT(2 * result.iterations, from_guess.iterations);
    }
    for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(result.v[i], from_guess.v[i], 1e-8);
  }
}

// The guess may solve the problem but for contacts that were found later.
TEST_P(SapTest, ExpectedImpulsesDoNotReplaceAGuessNearTheSolution) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 1e-11;
  const SapResult before = whole_.Solve(whole_.v_star(), options);
  for (double& v : whole_.system.v_star) v *= 1.001;
  whole_.problem.has_rough_guess = true;
  for (std::size_t c = 0; c < before.gamma.size(); ++c) {
    whole_.problem.contacts[c].expected = Vector3d(0.1, -2, static_cast<double>(c % 3));
    whole_.problem.contacts[c].expected_slip = 0.3;
  }
  const SapResult result = whole_.Solve(before.v, options);
  ASSERT_TRUE(result.converged);
  ASSERT_GT(result.residuals[0], 1e-6);
  for (std::size_t k = 1; k < result.costs.size(); ++k)
    EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
}

TEST_P(SapTest, AnIterationBudgetThatIsTooSmallIsReported) {
  SapOptions options;
  options.line_search = GetParam();
  options.max_iterations = 1;
  const SapResult result = whole_.Solve(std::vector<double>(whole_.size(), 3.0), options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_GT(result.residual, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(LineSearches, SapTest,
                         ::testing::Values(SapOptions::LineSearch::kExact,
                                           SapOptions::LineSearch::kBacktracking));

}  // namespace
}  // namespace pliant::solvers
