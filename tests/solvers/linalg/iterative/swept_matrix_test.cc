#include "solvers/linalg/iterative/swept_matrix.h"

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "oneapi/tbb/global_control.h"
#include "solvers/linalg/iterative/conjugate_gradients.h"
#include "tests/solvers/linalg/random_matrix.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A row of nodes of which each is coupled with the next three.
std::vector<std::array<int, 4>> MakeElements(int num_nodes) {
  std::vector<std::array<int, 4>> elements;
  for (int i = 0; i + 3 < num_nodes; ++i) elements.push_back({i, i + 1, i + 2, i + 3});
  return elements;
}

MatrixXd ToDense(const BlockMatrix& A) {
  const int n = A.pattern->num_nodes;
  MatrixXd dense = MatrixXd::Zero(3 * n, 3 * n);
  for (int j = 0; j < n; ++j) {
    for (int b = A.pattern->column_starts[j]; b < A.pattern->column_starts[j + 1]; ++b) {
      const int i = A.pattern->rows[b];
      const Eigen::Map<const Eigen::Matrix3d> block(&A.values[9 * std::size_t(b)]);
      dense.block<3, 3>(3 * i, 3 * j) = block;
      dense.block<3, 3>(3 * j, 3 * i) = block.transpose();
    }
  }
  return dense;
}

VectorXd MakeVector(int size) {
  return VectorXd::NullaryExpr(size, [](Eigen::Index i) { return std::sin(1.0 + 0.7 * i * i); });
}

// Any number of iterations gives what conjugate gradients give with the products of A and P.
TEST(SweptMatrix, IteratesLikeConjugateGradientsWithSweepsAsPreconditioner) {
  const int n = 20;
  const auto elements = MakeElements(n);
  const BlockPattern pattern = MakeBlockPattern(n, elements);
  const BlockMatrix A = MakeRandomMatrix(pattern, elements, 0.1, 5);
  const MatrixXd dense = ToDense(A);
  MatrixXd lower = MatrixXd::Zero(3 * n, 3 * n), diagonal = lower;
  for (int i = 0; i < n; ++i) {
    diagonal.block<3, 3>(3 * i, 3 * i) = dense.block<3, 3>(3 * i, 3 * i);
    for (int j = 0; j <= i; ++j) lower.block<3, 3>(3 * i, 3 * j) = dense.block<3, 3>(3 * i, 3 * j);
  }
  const Eigen::PartialPivLU<MatrixXd> P(lower * diagonal.inverse() * lower.transpose());
  const VectorXd b = MakeVector(3 * n);
  const std::span<const double> right(b.data(), b.size());
  const auto apply = [&](const auto& f) {
    return [f](std::span<const double> from, std::span<double> to) {
      Eigen::Map<VectorXd>(to.data(), to.size()) =
          f(Eigen::Map<const VectorXd>(from.data(), from.size()));
    };
  };
  const auto multiply = apply([&](const auto& v) { return VectorXd(dense * v); });
  const auto precondition = apply([&](const auto& v) { return VectorXd(P.solve(v)); });
  SweptMatrix swept;
  ASSERT_TRUE(swept.Set(A));
  for (const int iterations : {1, 2, 5, 1}) {
    VectorXd x(3 * n), expected(3 * n);
    ConjugateGradients solver;
    EXPECT_FALSE(solver.Solve(multiply, precondition, right, 1e-12, iterations,
                              {expected.data(), right.size()}));
    EXPECT_FALSE(swept.Solve(right, 1e-12, iterations, {x.data(), right.size()}));
    EXPECT_EQ(swept.iterations(), iterations);
    EXPECT_LT((x - expected).norm(), 1e-5 * expected.norm()) << iterations;  // single precision
  }
}

TEST(SweptMatrix, RefusesADiagonalBlockThatIsNotPositive) {
  const auto elements = MakeElements(5);
  const BlockPattern pattern = MakeBlockPattern(5, elements);
  BlockMatrix A = MakeRandomMatrix(pattern, elements, 0.1, 5);
  A.values[9 * std::size_t(pattern.Find(3, 3))] = -1;
  EXPECT_FALSE(SweptMatrix().Set(A));
}

// Large enough to be divided into ranges.
TEST(SweptMatrix, SolvesALargeSystemWithTheSameBitsForAnyNumberOfThreads) {
  const int n = 30'000;
  const auto elements = MakeElements(n);
  const BlockPattern pattern = MakeBlockPattern(n, elements);
  ASSERT_GT(pattern.num_blocks(), 100'000);
  const BlockMatrix A = MakeRandomMatrix(pattern, elements, 0.1, 6);
  const VectorXd b = MakeVector(3 * n);
  const std::size_t size = b.size();
  const auto solve = [&](int threads, int* products) {
    oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism,
                                        threads);
    SweptMatrix swept;
    EXPECT_TRUE(swept.Set(A));
    VectorXd x(b.size());
    EXPECT_TRUE(swept.Solve({b.data(), size}, 1e-8, 500, {x.data(), size}));
    *products = swept.iterations();
    return x;
  };
  int products = 0;
  const VectorXd x = solve(1, &products);
  EXPECT_LT(products, 100);
  VectorXd residual(b.size());
  A.Multiply({x.data(), size}, {residual.data(), size});
  EXPECT_LT((residual - b).norm(), 1e-6 * b.norm());
  EXPECT_EQ(solve(2, &products), x);
}

}  // namespace
}  // namespace pliant::solvers
