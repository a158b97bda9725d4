#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "solvers/convex/sap.h"
#include "solvers/linalg/elimination_order.h"
#include "tests/execute_on_threads.h"
#include "tests/solvers/convex/random_bodies.h"
#include "tests/solvers/linalg/grid.h"
#include "tests/solvers/linalg/spring_grid.h"

namespace pliant::solvers {
namespace {

// A cube of nodes, large enough to be factored in single precision where the guess is rough. One of
// its faces meets the world in contacts that open, stick or slide.
class SinglePrecisionTest : public ::testing::Test {
 protected:
  static constexpr int kSide = 11, kNodes = kSide * kSide * kSide;

  SinglePrecisionTest()
      : pattern_(MakeGrid(kSide, kSide, kSide, false)), order_(FindEliminationOrder(pattern_)) {}

  SapResult Solve(const BlockMatrix& A, bool has_rough_guess) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    WholeProblem whole;
    whole.system.blocks = {{0, 3 * kNodes, {&A, order_}}};
    whole.system.num_velocities = 3 * kNodes;
    for (int k = 0; k < kNodes; ++k)
      for (const double v : {0.3, 0.1, -1.0}) whole.system.v_star.push_back(v);
    whole.system.linear_term.assign(whole.size(), 0.0);
    for (int k = 0; k < kSide * kSide; ++k) {
      ConvexProblem::Contact contact;
      contact.R = {1e-4, 1e-4, 1e-3};
      contact.v_hat = {0, 0, 0.1 * uniform(random)};
      contact.friction = 0.5;
      whole.AddContact(contact);
      int entry = 0;
      whole.AddContactEntry(3 * k, 3, [&] { return entry++ % 4 == 0 ? 1.0 : 0.0; });
    }
    whole.problem.has_rough_guess = has_rough_guess;
    return whole.Solve(whole.v_star(), {});
  }

  BlockPattern pattern_;
  std::vector<int> order_;
};

TEST_F(SinglePrecisionTest, GivesTheSolutionOfDoublePrecision) {
  const BlockMatrix A = MakeSprings(pattern_, 3);
  const SapResult rough = Solve(A, true), exact = Solve(A, false);
  ASSERT_TRUE(rough.converged);
  ASSERT_TRUE(exact.converged);
  EXPECT_GT(rough.iterations, 2);
  EXPECT_GT(rough.factorisations, 0);
  // directions are refined, by few products
  EXPECT_GE(rough.linear_iterations, rough.iterations);
  EXPECT_LE(rough.linear_iterations, 8 * rough.iterations);
  EXPECT_EQ(exact.linear_iterations, 0);
  for (int i = 0; i < 3 * kNodes; ++i) ASSERT_NEAR(rough.v[i], exact.v[i], 1e-5);
}

TEST_F(SinglePrecisionTest, IsGivenUpWhereAMatrixIsIllConditioned) {
  for (const int num_stiff : {kNodes / 2, kNodes}) {
    const BlockMatrix A = MakeSprings(pattern_, 3, num_stiff);
    const SapResult rough = Solve(A, true), exact = Solve(A, false);
    ASSERT_TRUE(rough.converged);
    ASSERT_TRUE(exact.converged);
    EXPECT_GT(rough.factorisations, 0);
    for (int i = 0; i < 3 * kNodes; ++i) ASSERT_NEAR(rough.v[i], exact.v[i], 1e-4);
  }
}

TEST_F(SinglePrecisionTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const BlockMatrix A = MakeSprings(pattern_, 3);
  const SapResult one = ExecuteOnThreads(1, [&] { return Solve(A, true); });
  for (const int threads : {2, 5}) {
    const SapResult several = ExecuteOnThreads(threads, [&] { return Solve(A, true); });
    EXPECT_EQ(several.v, one.v);
    EXPECT_EQ(several.gamma, one.gamma);
  }
}

}  // namespace
}  // namespace pliant::solvers
