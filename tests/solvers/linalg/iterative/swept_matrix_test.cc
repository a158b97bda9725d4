#include "solvers/linalg/iterative/swept_matrix.h"

#include <array>
#include <cmath>
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

TEST(SweptMatrix, IsTheProductOfItsSweeps) {
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
  const MatrixXd P = lower * diagonal.inverse() * lower.transpose();
  const VectorXd b = MakeVector(3 * n);
  SweptMatrix swept;
  ASSERT_TRUE(swept.Set(A));
  for (int repeat = 0; repeat < 2; ++repeat) {
    VectorXd x(3 * n);
    swept.Precondition({b.data(), std::size_t(b.size())}, {x.data(), std::size_t(x.size())});
    EXPECT_LT((P * x - b).norm(), 1e-5 * b.norm());  // single precision
  }
}

TEST(SweptMatrix, MultipliesLikeTheMatrixInSinglePrecision) {
  for (const int n : {20, 30'000}) {
    const auto elements = MakeElements(n);
    const BlockPattern pattern = MakeBlockPattern(n, elements);
    const BlockMatrix A = MakeRandomMatrix(pattern, elements, 0.1, 7);
    const VectorXd b = MakeVector(3 * n);
    const std::size_t size = b.size();
    VectorXd exact(b.size()), x(b.size());
    A.Multiply({b.data(), size}, {exact.data(), size});
    SweptMatrix swept;
    ASSERT_TRUE(swept.Set(A));
    swept.Multiply({b.data(), size}, {x.data(), size});
    EXPECT_LT((x - exact).norm(), 1e-6 * exact.norm());
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
    ConjugateGradients solver;
    VectorXd x(b.size());
    EXPECT_TRUE(solver.Solve(&swept, {b.data(), size}, 1e-8, 500, {x.data(), size}));
    *products = solver.iterations();
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
