#include "solvers/linalg/dense.h"

#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Sizes around the widths of lanes and blocks. Every operand is surrounded by numbers that no
// kernel may read into a result or overwrite.
class DenseTest : public ::testing::TestWithParam<int> {
 protected:
  DenseTest() : n_(GetParam()), lda_(n_ + 3), padded_(MatrixXd::Constant(lda_, n_ + 1, 7)) {
    std::mt19937 random(n_);
    std::uniform_real_distribution<double> uniform(-1, 1);
    MatrixXd B(n_, n_);
    for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform(random);
    A_ = B * B.transpose() + MatrixXd::Identity(n_, n_);
    padded_.topLeftCorner(n_, n_) = A_;
    x_ = VectorXd::Constant(n_ + 4, 7);
    J_.resize(3, n_);
    for (int i = 0; i < n_; ++i) x_[i] = uniform(random);
    for (int i = 0; i < J_.size(); ++i) J_.data()[i] = uniform(random);
  }

  VectorXd x() const { return x_.head(n_); }
  // n roundings of numbers of this size, magnified by the condition number of A
  double Tolerance(double size) const {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(A_);
    return 2.3e-16 * (n_ + 1) * eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff() *
           (1 + size);
  }
  void ExpectUntouchedBeyond() const {
    EXPECT_TRUE((padded_.bottomRows(3).array() == 7).all());
    EXPECT_TRUE((padded_.rightCols(1).array() == 7).all());
    EXPECT_TRUE((x_.tail(4).array() == 7).all());
  }

  int n_, lda_;
  MatrixXd A_, padded_, J_;
  VectorXd x_;
};

TEST_P(DenseTest, FactorAndSolvesInvert) {
  ASSERT_EQ(FactorCholesky(n_, padded_.data(), lda_), -1);
  const MatrixXd L = padded_.topLeftCorner(n_, n_).triangularView<Eigen::Lower>();
  EXPECT_LT((L * L.transpose() - A_).norm(), Tolerance(A_.norm()));

  const VectorXd b = x();
  SolveLower(n_, padded_.data(), lda_, x_.data());
  EXPECT_LT((L * x() - b).norm(), Tolerance(b.norm()));
  const VectorXd y = x();
  SolveLowerTransposed(n_, padded_.data(), lda_, x_.data());
  EXPECT_LT((L.transpose() * x() - y).norm(), Tolerance(y.norm()));
  ExpectUntouchedBeyond();

  std::vector<double> room(4 * n_);
  Eigen::Matrix3d W;
  CalcCompliance(n_, padded_.data(), lda_, J_.data(), room.data(), W.data());
  const Eigen::Matrix3d exact = J_ * A_.llt().solve(J_.transpose());
  EXPECT_LT((W - exact).norm(), Tolerance(exact.norm()));
  EXPECT_EQ(W, Eigen::Matrix3d(W.transpose()));
}

TEST_P(DenseTest, APanelIsTheFactorsFirstColumnsAndLeavesTheRest) {
  MatrixXd whole = padded_;
  ASSERT_EQ(FactorCholesky(n_, whole.data(), lda_), -1);
  for (int k = 0; k <= n_; ++k) {
    MatrixXd panel = padded_;
    ASSERT_EQ(FactorPanel(n_, k, panel.data(), lda_), -1);
    const MatrixXd L = panel.topLeftCorner(n_, k).triangularView<Eigen::Lower>();
    const MatrixXd expected = whole.topLeftCorner(n_, k).triangularView<Eigen::Lower>();
    EXPECT_LT((L - expected).norm(), Tolerance(A_.norm()));
    EXPECT_EQ(panel.rightCols(n_ + 1 - k), padded_.rightCols(n_ + 1 - k));
  }
}

TEST_P(DenseTest, TheFirstPivotThatIsNotPositiveIsTold) {
  for (int bad = 0; bad < n_; ++bad) {
    MatrixXd A = padded_;
    A(bad, bad) = -1;
    EXPECT_EQ(FactorCholesky(n_, A.data(), lda_), bad);
  }
}

TEST_P(DenseTest, ProductsAreThoseOfTheMatrix) {
  const VectorXd v = x();
  VectorXd y = VectorXd::Constant(n_ + 4, 7);
  MultiplySymmetric(n_, padded_.data(), lda_, x_.data(), y.data());
  EXPECT_LT((y.head(n_) - A_ * v).norm(), Tolerance(A_.norm()));
  EXPECT_NEAR(Dot(n_, x_.data(), x_.data()), v.squaredNorm(), Tolerance(1));
  EXPECT_TRUE((y.tail(4).array() == 7).all());

  // the first m rows and all columns, and their transpose
  for (int m = 0; m <= n_; ++m) {
    VectorXd rows = VectorXd::Constant(m + 4, 7), columns = x_;
    SubtractMatrixVector(m, n_, padded_.data(), lda_, x_.data(), rows.data());
    EXPECT_LT((rows.head(m) - (VectorXd::Constant(m, 7) - A_.topRows(m) * v)).norm(),
              Tolerance(A_.norm()));
    EXPECT_TRUE((rows.tail(4).array() == 7).all());
    SubtractTransposedMatrixVector(m, n_, padded_.data(), lda_, x_.data(), columns.data());
    EXPECT_LT((columns.head(n_) - (v - A_.topRows(m).transpose() * v.head(m))).norm(),
              Tolerance(A_.norm()));
    EXPECT_TRUE((columns.tail(4).array() == 7).all());
  }
  ExpectUntouchedBeyond();
}

INSTANTIATE_TEST_SUITE_P(Sizes, DenseTest,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 23, 24, 41, 70));

}  // namespace
}  // namespace pliant::solvers
