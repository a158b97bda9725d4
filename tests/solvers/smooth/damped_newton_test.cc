#include "solvers/smooth/damped_newton.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/execute_on_threads.h"

namespace pliant::solvers {
namespace {

// A chain of equations x_i³ + 2 x_i − ½ x_{i+1} + w (u · x) u_i = b, nonsymmetric, where every
// second u_i is 1 and the others 0.
class Chain final : public SmoothSystem {
 public:
  explicit Chain(int n, double w = 0) : w_(w), x_(n) {}
  int size() const override { return static_cast<int>(x_.size()); }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override {
    x_.assign(v.begin(), v.end());
    double along = 0;
    for (std::size_t i = 0; i < x_.size(); i += 2) along += x_[i];
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double next = i + 1 < x_.size() ? x_[i + 1] : 0;
      r[i] = x_[i] * x_[i] * x_[i] + 2 * x_[i] - 0.5 * next - 10.0;
      if (i % 2 == 0) r[i] += w_ * along;
    }
    return true;
  }
  void CalcJacobian(BlockSum* jacobian) override {
    for (int i = 0; i < size(); ++i) {
      jacobian->Add(i, i, 3 * x_[i] * x_[i] + 2);
      if (i + 1 < size()) jacobian->Add(i, i + 1, -0.5);
    }
    if (w_ == 0) return;
    BlockSum::Outer& outer = jacobian->outers.emplace_back();
    outer.weight = w_;
    for (int i = 0; i < size(); i += 2) {
      outer.places.push_back(i);
      outer.values.push_back(1);
    }
  }

 private:
  double w_;
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

// An outer product is part of the Jacobian though it is never made dense.
TEST_P(BothSolvers, SolveASystemWithAnOuterProduct) {
  for (const double w : {1e-3, 1.0, 1e6}) {
    Chain chain(50, w);
    std::vector<double> weights(50, 1.0);
    for (int i = 0; i < 50; i += 3) weights[i] = 0.5;  // of rows
    std::vector<double> x(50, 0.0), r(50);
    DampedNewton newton;
    NewtonResult result;
    NewtonOptions options;
    options.linear_solver = GetParam();
    newton.Solve(&chain, weights, 10, options, x, &result);
    EXPECT_EQ(result.reason, StopReason::kConverged) << w;
    EXPECT_LE(result.iterations, 15) << w;
    chain.CalcResidual(x, r);
    for (const double ri : r) EXPECT_LE(std::abs(ri), 20 * options.tolerance) << w;
  }
}

// A grid of nodes of three unknowns on springs, with a cubic term. The Jacobian is symmetric but
// for `skew`, and positive definite but for a negative `stiffness` without `cubic`.
class Grid final : public SmoothSystem {
 public:
  Grid(double cubic, double stiffness, double skew)
      : cubic_(cubic), stiffness_(stiffness), skew_(skew), x_(kSize) {}
  int size() const override { return kSize; }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override {
    x_.assign(v.begin(), v.end());
    for (int i = 0; i < kSize; ++i) {
      r[i] = cubic_ * x_[i] * x_[i] * x_[i] + x_[i] - 1 - i % 5;
      ForNeighbours(i, [&](int j) {
        r[i] += stiffness_ * (x_[i] - x_[j]) + (i < j ? skew_ : -skew_) * x_[j];
      });
    }
    return true;
  }
  void CalcJacobian(BlockSum* jacobian) override {
    for (int i = 0; i < kSize; ++i) {
      double diagonal = 3 * cubic_ * x_[i] * x_[i] + 1;
      ForNeighbours(i, [&](int j) {
        diagonal += stiffness_;
        jacobian->Add(i, j, -stiffness_ + (i < j ? skew_ : -skew_));
      });
      jacobian->Add(i, i, diagonal);
    }
  }

 private:
  static constexpr int kSide = 6, kSize = 3 * kSide * kSide * kSide;

  template <typename F>
  static void ForNeighbours(int i, const F& f) {
    for (const int step : {3, 3 * kSide, 3 * kSide * kSide}) {
      if (i / step % kSide > 0) f(i - step);
      if (i / step % kSide + 1 < kSide) f(i + step);
    }
    if (i % 3 > 0) f(i - 1);
    if (i % 3 < 2) f(i + 1);
  }

  double cubic_, stiffness_, skew_;
  std::vector<double> x_;
};

// The symmetric part alone suffices, or with iterations, or is given up for LU factors, since it is
// not definite or since the rest outweighs it.
TEST_P(BothSolvers, SolveLargeSystemsThatAreSymmetricOrNot) {
  for (const auto& [cubic, stiffness, skew] : std::initializer_list<std::array<double, 3>>{
           {1, 2, 0}, {1, 2, 0.1}, {1, 2, 1}, {0, -2, 0.3}, {1, 0.1, 30}}) {
    Grid grid(cubic, stiffness, skew);
    const std::size_t n = grid.size();
    std::vector<double> weights(n, 1.0);
    for (std::size_t i = 0; i < n; i += 3) weights[i] = 0.5;
    std::vector<double> x(n), r(n), first;
    NewtonOptions options;
    options.linear_solver = GetParam();
    for (const int threads : {1, 2}) {
      NewtonResult result;
      std::ranges::fill(x, 0.0);
      ExecuteOnThreads(threads,
                       [&] { DampedNewton().Solve(&grid, weights, 10, options, x, &result); });
      EXPECT_EQ(result.reason, StopReason::kConverged) << stiffness << ' ' << skew;
      EXPECT_LE(result.iterations, 15) << stiffness << ' ' << skew;
      if (first.empty()) first = x;
      EXPECT_EQ(x, first);
    }
    grid.CalcResidual(x, r);
    for (const double ri : r) EXPECT_LE(std::abs(ri), 20 * options.tolerance);
  }
}

// Solutions do not depend on solves before the last Forget().
TEST_P(BothSolvers, ForgetEarlierSolves) {
  Grid skew(1, 0.1, 30), symmetric(1, 2, 0.1);
  const std::size_t n = skew.size();
  const std::vector<double> weights(n, 1.0);
  NewtonOptions options;
  options.linear_solver = GetParam();
  std::vector<double> x(n, 0.0), y(n, 0.0);
  NewtonResult result;
  DampedNewton used;
  used.Solve(&skew, weights, 10, options, x, &result);
  used.Forget();
  std::ranges::fill(x, 0.0);
  used.Solve(&symmetric, weights, 10, options, x, &result);
  DampedNewton().Solve(&symmetric, weights, 10, options, y, &result);
  EXPECT_EQ(x, y);
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

TEST(DampedNewton, DoesNotConvergeWhereNothingDescends) {
  Stuck system;
  const std::vector<double> weights(1, 1.0);
  std::vector<double> x{3};
  NewtonResult result;
  DampedNewton().Solve(&system, weights, 1, {}, x, &result);
  EXPECT_EQ(result.reason, StopReason::kStalled);
  EXPECT_LT(result.iterations, NewtonOptions().max_iterations);
  // It ends at a distance d from the minimum at which the shortest step, 2⁻¹⁹ of Newton's 1 / 2d,
  // overshoots: d² < 2⁻²¹.
  EXPECT_NEAR(result.residual, 1, std::pow(0.5, 21));
}

}  // namespace
}  // namespace pliant::solvers
