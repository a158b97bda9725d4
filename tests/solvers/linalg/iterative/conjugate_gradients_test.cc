#include "solvers/linalg/iterative/conjugate_gradients.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

class ConjugateGradientsTest : public ::testing::Test {
 protected:
  static constexpr int kSize = 30, kRank = 4;

  ConjugateGradientsTest() {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto fill = [&] { return uniform(random); };
    const Eigen::MatrixXd B = Eigen::MatrixXd::NullaryExpr(kSize, kSize, fill);
    P_ = B * B.transpose() + Eigen::MatrixXd::Identity(kSize, kSize);
    // a change of low rank, like that of a few contacts
    const Eigen::MatrixXd U = Eigen::MatrixXd::NullaryExpr(kSize, kRank, fill);
    H_ = P_ + 1e3 * U * U.transpose();
    b_ = Eigen::VectorXd::NullaryExpr(kSize, fill);
  }

  bool Solve(double tolerance, int max_iterations) {
    const Eigen::LLT<Eigen::MatrixXd> factor(P_);
    x_.setZero(kSize);
    return solver_.Solve(
        [&](std::span<const double> from, std::span<double> to) {
          Eigen::Map<Eigen::VectorXd>(to.data(), kSize) =
              H_ * Eigen::Map<const Eigen::VectorXd>(from.data(), kSize);
        },
        [&](std::span<const double> from, std::span<double> to) {
          Eigen::Map<Eigen::VectorXd>(to.data(), kSize) =
              factor.solve(Eigen::Map<const Eigen::VectorXd>(from.data(), kSize));
        },
        {b_.data(), kSize}, tolerance, max_iterations, {x_.data(), kSize});
  }

  Eigen::MatrixXd P_, H_;
  Eigen::VectorXd b_, x_;
  ConjugateGradients solver_;
};

TEST_F(ConjugateGradientsTest, AChangeOfLowRankTakesOneProductMoreThanItsRank) {
  ASSERT_TRUE(Solve(1e-8, kSize));
  EXPECT_LE(solver_.iterations(), kRank + 1);
  // the tolerance, times the root of the largest eigenvalue of P⁻¹ H, of about 1e3
  EXPECT_LT((H_ * x_ - b_).norm(), 1e-6 * b_.norm());
}

TEST_F(ConjugateGradientsTest, TooFewProductsAreReported) {
  EXPECT_FALSE(Solve(1e-8, kRank - 2));
  EXPECT_EQ(solver_.iterations(), kRank - 2);
}

TEST_F(ConjugateGradientsTest, WhatIsNotFiniteIsReported) {
  b_[3] = std::nan("");
  EXPECT_FALSE(Solve(1e-8, kSize));
}

TEST_F(ConjugateGradientsTest, ZeroIsSolvedWithoutAProduct) {
  b_.setZero();
  ASSERT_TRUE(Solve(1e-8, kSize));
  EXPECT_EQ(solver_.iterations(), 0);
  EXPECT_EQ(x_.norm(), 0);
}

}  // namespace
}  // namespace pliant::solvers
