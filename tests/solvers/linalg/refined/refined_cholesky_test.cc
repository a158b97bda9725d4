#include "solvers/linalg/refined/refined_cholesky.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/partial_cholesky.h"
#include "tests/execute_on_threads.h"

namespace pliant::solvers {
namespace {

// A block of 13³ masses joined to their neighbours by springs that are alike in all directions,
// with the matrix of a body in free flight.
class RefinedCholeskyTest : public ::testing::Test {
 protected:
  static constexpr int kSide = 13, kNodes = kSide * kSide * kSide, kNumbers = 3 * kNodes;

  RefinedCholeskyTest()
      : pattern_(MakePattern()), order_(FindEliminationOrder(pattern_)), b_(kNumbers) {
    for (int i = 0; i < kNumbers; ++i) b_[i] = std::sin(i);
  }

  static BlockPattern MakePattern() {
    BlockPattern pattern;
    pattern.num_nodes = kNodes;
    pattern.column_starts = {0};
    for (int j = 0; j < kNodes; ++j) {
      pattern.rows.push_back(j);
      if (j % kSide + 1 < kSide) pattern.rows.push_back(j + 1);
      if (j / kSide % kSide + 1 < kSide) pattern.rows.push_back(j + kSide);
      if (j + kSide * kSide < kNodes) pattern.rows.push_back(j + kSide * kSide);
      pattern.column_starts.push_back(pattern.num_blocks());
    }
    return pattern;
  }

  // Springs of `stiffness` between unit masses, 1e6 times as stiff where both ends come before node
  // `stiff`.
  BlockMatrix MakeMatrix(double stiffness, int stiff = 0) const {
    BlockMatrix A(&pattern_);
    const auto add = [&](int i, int j, double value) {
      double* block = &A.values[9 * std::size_t(pattern_.Find(i, j))];
      for (int c = 0; c < 3; ++c) {
        block[4 * c] += value;
        // couple the axes too
        for (int r = 0; r < 3; ++r)
          if (r != c) block[3 * c + r] += 0.25 * value;
      }
    };
    for (int j = 0; j < kNodes; ++j) {
      double* diagonal = &A.values[9 * std::size_t(pattern_.column_starts[j])];
      for (int c = 0; c < 3; ++c) diagonal[4 * c] += 1;
      for (int k = pattern_.column_starts[j] + 1; k < pattern_.column_starts[j + 1]; ++k) {
        const int i = pattern_.rows[k];
        const double spring = i < stiff ? 1e6 * stiffness : stiffness;
        add(i, i, spring);
        add(j, j, spring);
        add(i, j, -spring);
      }
    }
    return A;
  }

  std::vector<double> SolveInDouble(const BlockMatrix& A) const {
    PartialCholesky factor(&pattern_, order_);
    EXPECT_TRUE(factor.Factor(A, {}));
    std::vector<double> x = b_;
    factor.Solve(x);
    return x;
  }

  static double Largest(std::span<const double> x) {
    double largest = 0;
    for (const double one : x) largest = std::max(largest, std::abs(one));
    return largest;
  }
  static void ExpectNear(std::span<const double> actual, std::span<const double> expected,
                         double tolerance) {
    const double size = Largest(expected);
    for (int i = 0; i < kNumbers; ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * size) << i;
  }

  BlockPattern pattern_;
  std::vector<int> order_;
  std::vector<double> b_;
};

TEST_F(RefinedCholeskyTest, SolvesAsWellAsAFactorInDoublePrecision) {
  // condition numbers of about 20, 2e3 and 2e4
  for (const double stiffness : {1.0, 1e2, 1e3}) {
    const BlockMatrix A = MakeMatrix(stiffness);
    RefinedCholesky refined(&pattern_, order_);
    std::vector<double> x(kNumbers);
    ASSERT_TRUE(refined.Factor(A));
    ASSERT_TRUE(refined.Solve(A, b_, x));
    ExpectNear(x, SolveInDouble(A), 1e-12);
    EXPECT_LE(refined.backward_error(), 5e-16);
    EXPECT_GE(refined.refinements(), 1);
    EXPECT_LE(refined.refinements(), 3);
  }
}

TEST_F(RefinedCholeskyTest, WhatIsIllConditionedIsRefused) {
  RefinedCholesky refined(&pattern_, order_);
  std::vector<double> x(kNumbers);
  // a translation reveals the bad condition
  EXPECT_FALSE(refined.Factor(MakeMatrix(1e5)));
  // for a stiff half on a soft one, almost fixed by a great mass, a translation does not reveal it,
  // but the slow contraction of the refinement does
  BlockMatrix A = MakeMatrix(1, kNodes / 2);
  for (int c = 0; c < 3; ++c)
    A.values[9 * std::size_t(pattern_.Find(kNodes - 1, kNodes - 1)) + 4 * c] += 1e15;
  ASSERT_TRUE(refined.Factor(A));
  EXPECT_FALSE(refined.Solve(A, b_, x));
  EXPECT_LT(refined.refinements(), 4);
}

TEST_F(RefinedCholeskyTest, WhatIsNotDefiniteOrNotFiniteIsRefused) {
  RefinedCholesky refined(&pattern_, order_);
  std::vector<double> x(kNumbers);
  BlockMatrix A = MakeMatrix(1);
  A.values[9 * std::size_t(pattern_.Find(1000, 1000)) + 4] = -5;
  EXPECT_FALSE(refined.Factor(A));
  // beyond the range of single precision
  A = MakeMatrix(1);
  for (double& value : A.values) value *= 1e60;
  EXPECT_FALSE(refined.Factor(A));
  A = MakeMatrix(1);
  b_[7] = std::nan("");
  ASSERT_TRUE(refined.Factor(A));
  EXPECT_FALSE(refined.Solve(A, b_, x));
}

TEST_F(RefinedCholeskyTest, LoadsMayBeOfAnySize) {
  const BlockMatrix A = MakeMatrix(10);
  RefinedCholesky refined(&pattern_, order_);
  std::vector<double> x(kNumbers), b(kNumbers), scaled(kNumbers);
  ASSERT_TRUE(refined.Factor(A));
  ASSERT_TRUE(refined.Solve(A, b_, x));
  for (const int exponent : {-300, 300}) {
    for (int i = 0; i < kNumbers; ++i) b[i] = std::ldexp(b_[i], exponent);
    ASSERT_TRUE(refined.Solve(A, b, scaled));
    for (int i = 0; i < kNumbers; ++i) EXPECT_EQ(scaled[i], std::ldexp(x[i], exponent));
  }
  std::ranges::fill(b, 0.0);
  ASSERT_TRUE(refined.Solve(A, b, x));
  EXPECT_EQ(x, b);
}

TEST_F(RefinedCholeskyTest, BitsHangOnTheMatrixAndTheLoadAlone) {
  const BlockMatrix A = MakeMatrix(30), other = MakeMatrix(0.5);
  std::vector<double> first;
  for (const int threads : {1, 2, 5}) {
    ExecuteOnThreads(threads, [&] {
      RefinedCholesky refined(&pattern_, order_);
      std::vector<double> x(kNumbers);
      // earlier factorisations leave no trace
      ASSERT_TRUE(refined.Factor(other));
      ASSERT_TRUE(refined.Solve(other, b_, x));
      EXPECT_FALSE(refined.Factor(MakeMatrix(1e8)));
      ASSERT_TRUE(refined.Factor(A));
      ASSERT_TRUE(refined.Solve(A, b_, x));
      if (first.empty()) first = x;
      EXPECT_EQ(x, first);
    });
  }
}

TEST_F(RefinedCholeskyTest, PaysWhereOperationsOutweighNumbers) {
  SupernodeLayout block(pattern_, order_);
  block.LayOut({});
  block.Place({}, true);
  EXPECT_TRUE(RefinedCholesky::Pays(block));
  // a chain does not pay
  BlockPattern chain;
  chain.num_nodes = 1000;
  chain.column_starts = {0};
  for (int j = 0; j < 1000; ++j) {
    chain.rows.push_back(j);
    if (j < 999) chain.rows.push_back(j + 1);
    chain.column_starts.push_back(chain.num_blocks());
  }
  SupernodeLayout slender(chain, FindEliminationOrder(chain));
  slender.LayOut({});
  slender.Place({}, true);
  EXPECT_FALSE(RefinedCholesky::Pays(slender));
}

}  // namespace
}  // namespace pliant::solvers
