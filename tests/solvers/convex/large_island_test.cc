#include <algorithm>
#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/convex/sap.h"
#include "tests/execute_on_threads.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

// A chain of bodies of twenty nodes, large enough for threads to share all of its solve: even nodes touch the body before, odd
// ones the body after, twice each; some contacts open, stick and slide. The first body is held by scalar rows.
class LargeIslandTest : public ::testing::Test {
 protected:
  static constexpr int kBodies = 41, kNodes = 20, kSize = 3 * kNodes;

  LargeIslandTest() {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    AddRandomBodies(kBodies, kSize, 1, &random, &A_, &problem_);
    const auto add_entry = [&](int first, int height) {
      problem_.entries.push_back({first, 3, values_.size()});
      for (int i = 0; i < 3 * height; ++i) values_.push_back(uniform(random));
    };
    for (int b = 0; b + 1 < kBodies; ++b) {
      for (int k = 0; k < kNodes; ++k) {
        const int pair = k / 2;
        ConvexProblem::Contact contact;
        contact.R = {1e-3, 1e-3, 0.02};
        contact.v_hat = {0, 0, uniform(random)};
        contact.bias = Eigen::Vector3d::Zero();
        contact.friction = 0.5;
        contact.first_entry = static_cast<int>(problem_.entries.size());
        contact.num_entries = 2;
        add_entry(b * kSize + 6 * pair + 3, 3);
        add_entry((b + 1) * kSize + 6 * pair, 3);
        problem_.contacts.push_back(contact);
      }
    }
    for (int k = 0; k < 4; ++k) {
      problem_.rows.push_back({0.01, 0, 0, -1, 1, static_cast<int>(problem_.entries.size()), 1});
      add_entry(6 * k, 1);
    }
    problem_.values = values_;
  }

  SapResult Solve(int threads, SapOptions::LineSearch line_search) const {
    SapOptions options;
    options.line_search = line_search;
    return ExecuteOnThreads(threads, [&] { return SolveSap(problem_, problem_.v_star, options); });
  }

  std::vector<Eigen::MatrixXd> A_;
  std::vector<double> values_;
  ConvexProblem problem_;
};

TEST_F(LargeIslandTest, BitsAreTheSameForAnyNumberOfThreads) {
  for (const auto line_search :
       {SapOptions::LineSearch::kExact, SapOptions::LineSearch::kBacktracking}) {
    const SapResult one = Solve(1, line_search);
    EXPECT_TRUE(one.converged);
    EXPECT_GT(one.iterations, 2);
    for (const int threads : {2, 2, 5}) {
      const SapResult several = Solve(threads, line_search);
      EXPECT_EQ(several.v, one.v);
      EXPECT_EQ(several.gamma, one.gamma);
      EXPECT_EQ(several.row_gamma, one.row_gamma);
      EXPECT_EQ(several.costs, one.costs);
    }
  }
}

TEST_F(LargeIslandTest, MomentumIsBalanced) {
  const SapResult result = Solve(2, SapOptions::LineSearch::kExact);
  std::vector<double> impulse(problem_.size);
  for (std::size_t c = 0; c < problem_.contacts.size(); ++c)
    problem_.AddContactImpulse(static_cast<int>(c), result.gamma[c], impulse);
  for (std::size_t k = 0; k < problem_.rows.size(); ++k)
    problem_.AddRowImpulse(static_cast<int>(k), result.row_gamma[k], impulse);
  double error = 0, impulses = 0, momenta = 0;
  for (int b = 0; b < kBodies; ++b) {
    Eigen::VectorXd change(kSize);
    for (int i = 0; i < kSize; ++i)
      change[i] = result.v[b * kSize + i] - problem_.v_star[b * kSize + i];
    const Eigen::VectorXd momentum = A_[b] * change;
    const Eigen::Map<const Eigen::VectorXd> exerted(&impulse[b * kSize], kSize),
        v(&result.v[b * kSize], kSize);
    error += (momentum - exerted).squaredNorm();
    impulses += exerted.squaredNorm();
    momenta += (A_[b] * v).squaredNorm();
  }
  // the tolerance is of norms weighted by the diagonal of A, whose entries are 20 ± 4: within twice as much here
  EXPECT_LE(std::sqrt(error), 2e-6 * std::sqrt(std::max(impulses, momenta)));
}

}  // namespace
}  // namespace pliant::solvers
