#include "solvers/linalg/low_rank/low_rank_cholesky.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/solvers/linalg/random_matrix.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A sparse matrix with a part of rank two, and a column of weight zero.
class SparsePlusLowRank : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::array<int, 4>> elements;
    for (int i = 0; i + 3 < 24; ++i) elements.push_back({i, i + 1, i + 2, i + 3});
    pattern_ = MakeBlockPattern(24, elements);
    A_ = std::make_unique<BlockMatrix>(MakeRandomMatrix(pattern_, elements, 1, 7));
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    U_.weights = {3.5, 0, 1e4};
    U_.columns.assign(3, std::vector<double>(72));
    for (auto& column : U_.columns)
      for (double& x : column) x = normal(random);
    b_.resize(72);
    for (double& x : b_) x = normal(random);
    order_.resize(24);
    std::iota(order_.begin(), order_.end(), 0);

    whole_ = MatrixXd(72, 72);
    for (int j = 0; j < 72; ++j) {
      std::vector<double> unit(72), column(72);
      unit[j] = 1;
      A_->Multiply(unit, column);
      U_.AddProduct(unit, column);
      whole_.col(j) = VectorXd::Map(column.data(), 72);
    }
  }

  BlockPattern pattern_;
  std::unique_ptr<BlockMatrix> A_;
  LowRank U_;
  std::vector<double> b_;
  std::vector<int> order_;
  MatrixXd whole_;
};

TEST_F(SparsePlusLowRank, IsSolvedAsTheDenseMatrixWithoutParticipants) {
  LowRankCholesky factor(&pattern_, order_);
  ASSERT_TRUE(factor.Factor(*A_, U_, {}, ComplementForm::kDense, b_));
  std::vector<double> x(72);
  factor.Complete({}, x);
  const VectorXd exact = whole_.ldlt().solve(VectorXd::Map(b_.data(), 72));
  EXPECT_LT((VectorXd::Map(x.data(), 72) - exact).norm(), 1e-9 * exact.norm());
}

TEST_F(SparsePlusLowRank, HasTheSchurComplementAndTheSolutionsOfTheDenseMatrix) {
  const std::vector<int> participants = {2, 3, 11, 20};
  std::vector<int> p, n;
  for (int i = 0; i < 72; ++i) (std::ranges::count(participants, i / 3) ? p : n).push_back(i);
  const MatrixXd pp = whole_(p, p), pn = whole_(p, n), nn = whole_(n, n);
  const VectorXd b = VectorXd::Map(b_.data(), 72);
  const MatrixXd complement = pp - pn * nn.ldlt().solve(pn.transpose());
  const VectorXd reduced = b(p) - pn * nn.ldlt().solve(b(n));
  const VectorXd exact = whole_.ldlt().solve(b);

  for (const bool is_whole : {true, false}) {
    LowRankCholesky factor(&pattern_, order_);
    ASSERT_TRUE(
        is_whole ? factor.Factor(*A_, U_, participants, ComplementForm::kSparseWherePays, b_)
                 : factor.Eliminate(*A_, U_, participants, ComplementForm::kSparseWherePays, b_));
    const std::span<const double> dense = factor.schur_complement().dense;
    ASSERT_EQ(dense.size(), 144u);
    EXPECT_LT((MatrixXd::Map(dense.data(), 12, 12) - complement).norm(), 1e-9 * complement.norm());
    std::vector<double> r(12), x(72);
    factor.CopyReduced(r);
    EXPECT_LT((VectorXd::Map(r.data(), 12) - reduced).norm(), 1e-9 * reduced.norm());
    const VectorXd x_p = exact(p);
    factor.Complete({x_p.data(), 12}, x);
    EXPECT_LT((VectorXd::Map(x.data(), 72) - exact).norm(), 1e-9 * exact.norm());
    if (!is_whole) continue;
    factor.SolveForParticipants(r);
    EXPECT_LT((VectorXd::Map(r.data(), 12) - x_p).norm(), 1e-9 * x_p.norm());
  }
}

TEST_F(SparsePlusLowRank, WithoutColumnsIsThePartialFactorisationBitForBit) {
  const std::vector<int> participants = {0, 9, 10};
  LowRankCholesky with_none(&pattern_, order_);
  PartialCholesky partial(&pattern_, order_);
  ASSERT_TRUE(with_none.Factor(*A_, {}, participants, ComplementForm::kDense, b_));
  ASSERT_TRUE(partial.Factor(*A_, participants, ComplementForm::kDense, b_));
  std::vector<double> x_p(9), y_p(9), x(72), y(72);
  with_none.SolveForParticipants(x_p);
  partial.SolveForParticipants(y_p);
  with_none.Complete(x_p, x);
  partial.Complete(y_p, y);
  EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace pliant::solvers
