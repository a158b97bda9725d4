#include "solvers/linalg/iterative/single_cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/iterative/conjugate_gradients.h"
#include "tests/execute_on_threads.h"
#include "tests/solvers/linalg/grid.h"
#include "tests/solvers/linalg/spring_grid.h"

namespace pliant::solvers {
namespace {

class SingleCholeskyTest : public ::testing::Test {
 protected:
  static constexpr int kSide = 11, kNumbers = 3 * kSide * kSide * kSide;

  SingleCholeskyTest()
      : pattern_(MakeGrid(kSide, kSide, kSide, false)),
        order_(FindEliminationOrder(pattern_)),
        b_(kNumbers) {
    for (int i = 0; i < kNumbers; ++i) b_[i] = std::sin(i);
    factor_.SetPattern(pattern_, order_);
  }

  // b − A x, relative to the largest number of b
  double CalcResidual(const BlockMatrix& A, std::span<const double> x) const {
    std::vector<double> product(kNumbers);
    A.Multiply(x, product);
    double largest = 0;
    for (int i = 0; i < kNumbers; ++i) largest = std::max(largest, std::abs(b_[i] - product[i]));
    return largest;
  }

  BlockPattern pattern_;
  std::vector<int> order_;
  std::vector<double> b_;
  SingleCholesky factor_;
};

TEST_F(SingleCholeskyTest, SolvesToSinglePrecisionAndRefinesWithinAFewProducts) {
  for (const double stiffness : {1.0, 1e2, 1e4}) {
    const BlockMatrix A = MakeSprings(pattern_, stiffness);
    ASSERT_TRUE(factor_.Factor(A));
    std::vector<double> x(kNumbers);
    factor_.Solve(b_, x);
    EXPECT_LT(CalcResidual(A, x), 1e-5 * stiffness);
    EXPECT_GT(CalcResidual(A, x), 1e-9);
    ConjugateGradients solver;
    ASSERT_TRUE(solver.Solve(
        [&](std::span<const double> from, std::span<double> to) { A.Multiply(from, to); },
        [&](std::span<const double> from, std::span<double> to) { factor_.Solve(from, to); }, b_,
        1e-12, 6, x));
    EXPECT_LT(CalcResidual(A, x), 1e-9);
  }
}

TEST_F(SingleCholeskyTest, RefusesWhatIsNotDefiniteOrBeyondSinglePrecision) {
  BlockMatrix A = MakeSprings(pattern_, 1);
  A.values[9 * std::size_t(pattern_.Find(1000, 1000)) + 4] = -5;
  EXPECT_FALSE(factor_.Factor(A));
  // unit masses are lost beside springs of 1e12
  EXPECT_FALSE(factor_.Factor(MakeSprings(pattern_, 1e12)));
  for (const double size : {1e30, 1e-30, std::numeric_limits<double>::quiet_NaN()}) {
    A = MakeSprings(pattern_, 1);
    for (double& value : A.values) value *= size;
    EXPECT_FALSE(factor_.Factor(A)) << size;
  }
  EXPECT_TRUE(factor_.Factor(MakeSprings(pattern_, 1)));
}

TEST_F(SingleCholeskyTest, RightHandSidesMayHaveAnySize) {
  ASSERT_TRUE(factor_.Factor(MakeSprings(pattern_, 10)));
  std::vector<double> x(kNumbers), b(kNumbers), scaled(kNumbers);
  factor_.Solve(b_, x);
  for (const int exponent : {-300, 300}) {
    for (int i = 0; i < kNumbers; ++i) b[i] = std::ldexp(b_[i], exponent);
    factor_.Solve(b, scaled);
    for (int i = 0; i < kNumbers; ++i) ASSERT_EQ(scaled[i], std::ldexp(x[i], exponent));
  }
  std::ranges::fill(b, 0.0);
  factor_.Solve(b, x);
  EXPECT_EQ(x, b);
}

TEST_F(SingleCholeskyTest, BitsDependOnTheMatrixAlone) {
  const BlockMatrix A = MakeSprings(pattern_, 30);
  std::vector<double> first;
  for (const int threads : {1, 2, 5}) {
    ExecuteOnThreads(threads, [&] {
      SingleCholesky factor;
      factor.SetPattern(pattern_, order_);
      std::vector<double> x(kNumbers);
      // earlier factorisations have no influence
      ASSERT_TRUE(factor.Factor(MakeSprings(pattern_, 0.5)));
      EXPECT_FALSE(factor.Factor(MakeSprings(pattern_, 1e12)));
      ASSERT_TRUE(factor.Factor(A));
      factor.Solve(b_, x);
      if (first.empty()) first = x;
      EXPECT_EQ(x, first);
    });
  }
}

TEST_F(SingleCholeskyTest, PaysOffForManyOperations) {
  EXPECT_TRUE(SingleCholesky::PaysOff(pattern_, order_));
  const BlockPattern chain = MakeGrid(300, 2, 2, false);
  EXPECT_FALSE(SingleCholesky::PaysOff(chain, FindEliminationOrder(chain)));
}

}  // namespace
}  // namespace pliant::solvers
