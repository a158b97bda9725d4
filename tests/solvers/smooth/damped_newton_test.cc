#include "solvers/smooth/damped_newton.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

// A chain of equations x_i³ + 2 x_i − ½ x_{i+1} = b, nonsymmetric.
class Chain final : public SmoothSystem {
 public:
  explicit Chain(int n) : x_(n) {}
  int size() const override { return static_cast<int>(x_.size()); }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override {
    x_.assign(v.begin(), v.end());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double next = i + 1 < x_.size() ? x_[i + 1] : 0;
      r[i] = x_[i] * x_[i] * x_[i] + 2 * x_[i] - 0.5 * next - 10.0;
    }
    return true;
  }
  void CalcJacobian(BlockSum* jacobian) override {
    for (int i = 0; i < size(); ++i) {
      jacobian->Add(i, i, 3 * x_[i] * x_[i] + 2);
      if (i + 1 < size()) jacobian->Add(i, i + 1, -0.5);
    }
  }

 private:
  std::vector<double> x_;
};

class BothSolvers : public ::testing::TestWithParam<NewtonOptions::LinearSolver> {};

TEST_P(BothSolvers, SolveANonsymmetricSystemAndEndFast) {
  Chain chain(50);
  const std::vector<double> weights(50, 1.0);
  std::vector<double> x(50, 0.0), r(50);
  DampedNewton newton;
  NewtonResult result;
  NewtonOptions options;
  options.linear_solver = GetParam();
  newton.Solve(&chain, weights, 10, options, x, &result);
  EXPECT_EQ(result.reason, StopReason::kConverged);
  chain.CalcResidual(x, r);
  for (const double ri : r) EXPECT_LE(std::abs(ri), 10 * options.tolerance);
  // quadratic with exact steps; with forcing terms of the golden ratio, of that order
  const std::vector<double>& e = result.residuals;
  ASSERT_GE(e.size(), 3u);
  const double last = e.back(), before = e[e.size() - 2];
  EXPECT_LT(last, 10 * std::pow(before, 1.5));
}

INSTANTIATE_TEST_SUITE_P(Linear, BothSolvers,
                         ::testing::Values(NewtonOptions::LinearSolver::kDirect,
                                           NewtonOptions::LinearSolver::kIterative));

// |r| has a minimum above zero at x = 1.
class Stuck final : public SmoothSystem {
 public:
  int size() const override { return 1; }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override {
    x_ = v[0];
    r[0] = (x_ - 1) * (x_ - 1) + 1;
    return true;
  }
  void CalcJacobian(BlockSum* jacobian) override { jacobian->Add(0, 0, 2 * (x_ - 1)); }

 private:
  double x_ = 0;
};

TEST(DampedNewton, SaysThatItStalledWhereNothingDescends) {
  Stuck system;
  const std::vector<double> weights(1, 1.0);
  std::vector<double> x{3};
  NewtonResult result;
  DampedNewton().Solve(&system, weights, 1, {}, x, &result);
  EXPECT_NE(result.reason, StopReason::kConverged);
  EXPECT_GE(result.residual, 1);
}

}  // namespace
}  // namespace pliant::solvers
