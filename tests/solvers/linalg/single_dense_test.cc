#include <limits>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/trapezoid/trapezoid.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXf;

constexpr float kBeyond = 7;  // surrounds every operand; no kernel may use or overwrite it

// Compares kernels in single precision with sums in double precision, for sizes around the widths
// of lanes and blocks. An element is a sum of n terms, so its error is at most n roundings of the
// sum of their magnitudes.
class SingleDenseTest : public ::testing::TestWithParam<int> {
 protected:
  SingleDenseTest()
      : n_(GetParam()),
        lda_(n_ + 5),
        A_(MatrixXf::Constant(lda_, n_ + 1, kBeyond)),
        x_(VectorXf::Constant(n_ + 8, kBeyond)) {
    std::mt19937 random(n_);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int j = 0; j < n_; ++j) {
      x_[j] = uniform(random);
      for (int i = 0; i < n_; ++i) A_(i, j) = uniform(random);
    }
    // definite, and with well-conditioned triangles
    MatrixXf S = A_.topLeftCorner(n_, n_);
    S = (S + S.transpose()).eval();
    S.diagonal().array() += 3 * static_cast<float>(n_);
    definite_ = A_;
    definite_.topLeftCorner(n_, n_) = S;
  }

  static MatrixXd Double(const MatrixXf& A) { return A.cast<double>(); }
  // Expects |actual − expected| ≤ n roundings of `sizes`, element by element.
  void ExpectNear(const MatrixXf& actual, const MatrixXd& expected, const MatrixXd& sizes) const {
    const double rounding = 0.6e-7 * (n_ + 2);
    for (Eigen::Index j = 0; j < expected.cols(); ++j) {
      for (Eigen::Index i = 0; i < expected.rows(); ++i)
        EXPECT_NEAR(actual(i, j), expected(i, j), rounding * sizes(i, j)) << i << ' ' << j;
    }
  }

  int n_, lda_;
  MatrixXf A_, definite_;
  VectorXf x_;
};

TEST_P(SingleDenseTest, TrapezoidsAreThoseOfTheProduct) {
  for (const int k : {0, 1, n_ / 2, n_}) {
    for (const int columns : {1, (n_ + 1) / 2, n_}) {
      const MatrixXd A = Double(A_.topLeftCorner(n_, k)), C = Double(definite_.topRows(n_));
      const MatrixXd product = A * A.transpose(),
                     sizes = A.cwiseAbs() * A.cwiseAbs().transpose() + C.leftCols(n_).cwiseAbs();
      MatrixXf subtracted = definite_, negated = definite_;
      SubtractLowerTrapezoid(n_, columns, k, A_.data(), lda_, subtracted.data(), lda_);
      NegateLowerTrapezoid(n_, columns, k, A_.data(), lda_, negated.data(), lda_);
      for (int j = 0; j < columns; ++j) {
        const int below = n_ - j;
        ExpectNear(subtracted.block(j, j, below, 1),
                   (C.leftCols(n_) - product).block(j, j, below, 1), sizes.block(j, j, below, 1));
        ExpectNear(negated.block(j, j, below, 1), -product.block(j, j, below, 1),
                   sizes.block(j, j, below, 1));
      }
      for (const MatrixXf& result : {subtracted, negated}) {
        EXPECT_TRUE((result.bottomRows(5).array() == kBeyond).all());
        EXPECT_EQ(result.rightCols(n_ + 1 - columns), definite_.rightCols(n_ + 1 - columns));
      }
    }
  }
}

TEST_P(SingleDenseTest, PanelsAreTheFactorsFirstColumnsAndLeaveTheRest) {
  const MatrixXd S = Double(definite_.topLeftCorner(n_, n_));
  const MatrixXd L = S.llt().matrixL();
  for (int k = 0; k <= n_; ++k) {
    MatrixXf panel = definite_;
    ASSERT_EQ(FactorPanel(n_, k, panel.data(), lda_), -1);
    for (int j = 0; j < k; ++j) {
      // the terms of a factor's elements are no larger than the root of the product of two
      // diagonals
      const int below = n_ - j;
      ExpectNear(panel.block(j, j, below, 1), L.block(j, j, below, 1),
                 MatrixXd::Constant(below, 1, 4 * S.diagonal().cwiseSqrt().maxCoeff()));
    }
    EXPECT_TRUE((panel.bottomRows(5).array() == kBeyond).all());
    EXPECT_EQ(panel.rightCols(n_ + 1 - k), definite_.rightCols(n_ + 1 - k));
  }
}

TEST_P(SingleDenseTest, TheFirstPivotThatIsNotPositiveIsReturned) {
  for (int bad = 0; bad < n_; ++bad) {
    MatrixXf A = definite_;
    A(bad, bad) = -1;
    EXPECT_EQ(FactorPanel(n_, n_, A.data(), lda_), bad);
    A = definite_;
    A(bad, bad) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(FactorPanel(n_, n_, A.data(), lda_), bad);
  }
}

TEST_P(SingleDenseTest, SolutionsAreThoseOfTheTriangle) {
  const MatrixXd L = Double(definite_.topLeftCorner(n_, n_)).triangularView<Eigen::Lower>();
  const MatrixXd b = Double(x_.head(n_));
  // the diagonal outweighs each row by at least half, so the condition number does not matter
  const MatrixXd sizes = MatrixXd::Constant(n_, 1, 4.0 / n_);
  VectorXf x = x_;
  SolveLower(n_, definite_.data(), lda_, x.data());
  ExpectNear(x.head(n_), L.triangularView<Eigen::Lower>().solve(b), sizes);
  EXPECT_TRUE((x.tail(8).array() == kBeyond).all());
  x = x_;
  SolveLowerTransposed(n_, definite_.data(), lda_, x.data());
  ExpectNear(x.head(n_), L.transpose().triangularView<Eigen::Upper>().solve(b), sizes);
  EXPECT_TRUE((x.tail(8).array() == kBeyond).all());
}

TEST_P(SingleDenseTest, ProductsAreThoseOfTheMatrix) {
  const MatrixXd v = Double(x_.head(n_));
  for (int m = 0; m <= n_; ++m) {
    const MatrixXd A = Double(A_.topLeftCorner(m, n_));
    VectorXf rows = VectorXf::Constant(m + 8, kBeyond), columns = x_;
    SubtractMatrixVector(m, n_, A_.data(), lda_, x_.data(), rows.data());
    ExpectNear(rows.head(m), (kBeyond - (A * v).array()).matrix(),
               (kBeyond + (A.cwiseAbs() * v.cwiseAbs()).array()).matrix());
    EXPECT_TRUE((rows.tail(8).array() == kBeyond).all());
    SubtractTransposedMatrixVector(m, n_, A_.data(), lda_, x_.data(), columns.data());
    ExpectNear(columns.head(n_), v - A.transpose() * v.topRows(m),
               v.cwiseAbs() + A.cwiseAbs().transpose() * v.topRows(m).cwiseAbs());
    EXPECT_TRUE((columns.tail(8).array() == kBeyond).all());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SingleDenseTest,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 49, 70));

TEST(SingleTrapezoid, EveryVectorWidthGivesTheSameBits) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this CPU has one vector width only";
  for (const int m : {1, 7, 8, 15, 16, 23, 24, 47, 48, 49, 61, 101}) {
    for (const int k : {1, 5, 40}) {
      const MatrixXf A = MatrixXf::Random(m, k);
      for (const bool overwrite : {false, true}) {
        MatrixXf C = MatrixXf::Random(m, m), D = C;
        SubtractLowerTrapezoidAvx2(m, m, k, A.data(), m, C.data(), m, overwrite);
        SubtractLowerTrapezoidAvx512(m, m, k, A.data(), m, D.data(), m, overwrite);
        for (int j = 0; j < m; ++j) EXPECT_EQ(C.col(j).tail(m - j), D.col(j).tail(m - j));
      }
    }
  }
}

}  // namespace
}  // namespace pliant::solvers
