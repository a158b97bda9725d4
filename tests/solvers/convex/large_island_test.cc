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

// A chain of bodies of twenty nodes, large enough that all of its solve is multithreaded: even
// nodes touch the previous body, odd ones the next, twice each; some contacts open, stick and
// slide. Scalar rows act on the first body.
class LargeIslandTest : public ::testing::Test {
 protected:
  static constexpr int kBodies = 41, kNodes = 20, kSize = 3 * kNodes;

  LargeIslandTest() {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    AddRandomBodies(kBodies, kSize, 1, &random, &A_, &whole_);
    const auto next = [&] { return uniform(random); };
    for (int b = 0; b + 1 < kBodies; ++b) {
      for (int k = 0; k < kNodes; ++k) {
        const int pair = k / 2;
        ConvexProblem::Contact contact;
        contact.R = {1e-3, 1e-3, 0.02};
        contact.v_hat = {0, 0, uniform(random)};
        contact.friction = 0.5;
        whole_.AddContact(contact);
        whole_.AddContactEntry(b * kSize + 6 * pair + 3, 3, next);
        whole_.AddContactEntry((b + 1) * kSize + 6 * pair, 3, next);
      }
    }
    for (int k = 0; k < 4; ++k) {
      whole_.AddRow({0.01, 0, -1, 1});
      whole_.AddRowEntry(6 * k, 3, next);
    }
  }

  SapResult Solve(int threads, SapOptions::LineSearch line_search) const {
    SapOptions options;
    options.line_search = line_search;
    return ExecuteOnThreads(threads, [&] { return whole_.Solve(whole_.v_star(), options); });
  }

  std::vector<Eigen::MatrixXd> A_;
  WholeProblem whole_;
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
  const std::vector<double> impulse = whole_.CalcImpulse(result);
  double error = 0, impulses = 0, momenta = 0;
  for (int b = 0; b < kBodies; ++b) {
    Eigen::VectorXd change(kSize);
    for (int i = 0; i < kSize; ++i)
      change[i] = result.v[b * kSize + i] - whole_.v_star()[b * kSize + i];
    const Eigen::VectorXd momentum = A_[b] * change;
    const Eigen::Map<const Eigen::VectorXd> exerted(&impulse[b * kSize], kSize),
        v(&result.v[b * kSize], kSize);
    error += (momentum - exerted).squaredNorm();
    impulses += exerted.squaredNorm();
    momenta += (A_[b] * v).squaredNorm();
  }
  // the tolerance is on norms weighted by the diagonal of A, whose entries are 20 ± 4, so allow a
  // factor of two
  EXPECT_LE(std::sqrt(error), 2e-6 * std::sqrt(std::max(impulses, momenta)));
}

}  // namespace
}  // namespace pliant::solvers
