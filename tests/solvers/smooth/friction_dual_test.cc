#include "solvers/smooth/friction_dual.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "solvers/smooth/damped_newton.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

const Vector3d kSlips[] = {{0, 0, 0}, {0.3, -0.2, 0}, {0.6, 0.8, 0}, {-40, 9, 3}};

// ∂ direction/∂ slip by central differences.
template <typename F>
Matrix3d Differentiate(const F& direction, const Vector3d& slip) {
  Matrix3d by_slip;
  const double step = 1e-6 * std::max(1.0, slip.norm());
  for (int i = 0; i < 3; ++i) {
    const Vector3d d = step * Vector3d::Unit(i);
    by_slip.col(i) = (direction(slip + d) - direction(slip - d)) / (2 * step);
  }
  return by_slip;
}

Matrix3d DifferentiateDual(const FrictionDual& dual, const Vector3d& slip) {
  return Differentiate([&](const Vector3d& s) { return dual.CalcDirection<double>(s); }, slip);
}

TEST(FrictionDual, TheDirectionIsThatOfTheSlip) {
  FrictionDual dual;
  for (const Vector3d& slip : kSlips) {
    dual.Update(slip);
    EXPECT_NEAR((dual.CalcDirection<double>(slip) - CalcFrictionDirection<double>(slip)).norm(), 0,
                1e-15);
  }
}

TEST(FrictionDual, DerivativesAreExactWhereIteratesStay) {
  for (const Vector3d& slip : kSlips) {
    FrictionDual dual;
    dual.Update(slip);
    dual.Update(slip);
    const Matrix3d exact = Differentiate(CalcFrictionDirection<double>, slip);
    // differences have an error of step · g''; at the end of sticking g'' jumps by 2
    EXPECT_NEAR((DifferentiateDual(dual, slip) - exact).norm(), 0, 3e-6) << slip.transpose();
  }
}

// Plain Newton's method sees no resistance along the slip of a contact that slips.
TEST(FrictionDual, ASlippingContactResistsAlongItsSlip) {
  const Vector3d slip(20, 0, 0);
  FrictionDual dual;
  dual.Update(Vector3d(-50, 0, 0));
  dual.Update(slip);
  EXPECT_NEAR(Differentiate(CalcFrictionDirection<double>, slip)(0, 0), 0, 1e-9);
  EXPECT_GT(DifferentiateDual(dual, slip)(0, 0), 0.5 / slip.norm());
  // the direction is never longer than 1
  EXPECT_LE(DifferentiateDual(dual, slip)(0, 0), 2 / slip.norm() + 1e-9);
}

// A row of sliders that start at other speeds than the springs between them allow: most stick at
// the end of the step. The unknowns are their velocities, in units of the stick speed.
class Sliders final : public SmoothSystem {
 public:
  Sliders(int count, bool uses_dual) : uses_dual_(uses_dual), v_(count), duals_(count) {}
  int size() const override { return 3 * static_cast<int>(v_.size()); }
  void StartSolve() override { duals_.assign(v_.size(), {}); }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override {
    for (std::size_t i = 0; i < v_.size(); ++i) v_[i] << v[3 * i], v[3 * i + 1], v[3 * i + 2];
    for (std::size_t i = 0; i < v_.size(); ++i) {
      Vector3d sum = v_[i] - Start(i) + kFriction * CalcFrictionDirection<double>(v_[i]);
      if (i > 0) sum += kSpring * (v_[i] - v_[i - 1]);
      if (i + 1 < v_.size()) sum += kSpring * (v_[i] - v_[i + 1]);
      for (int k = 0; k < 3; ++k) r[3 * i + k] = sum[k];
    }
    return true;
  }
  void CalcJacobian(BlockSum* jacobian) override {
    const int n = static_cast<int>(v_.size());
    for (int i = 0; i < n; ++i) {
      duals_[i].Update(v_[i]);
      const Matrix3d friction =
          kFriction * (uses_dual_ ? DifferentiateDual(duals_[i], v_[i])
                                  : Differentiate(CalcFrictionDirection<double>, v_[i]));
      const int neighbours = (i > 0) + (i + 1 < n);
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) jacobian->Add(3 * i + k, 3 * i + l, friction(k, l));
        jacobian->Add(3 * i + k, 3 * i + k, 1 + kSpring * neighbours);
        if (i > 0) jacobian->Add(3 * i + k, 3 * i - 3 + k, -kSpring);
        if (i + 1 < n) jacobian->Add(3 * i + k, 3 * i + 3 + k, -kSpring);
      }
    }
  }

 private:
  static constexpr double kFriction = 2e4, kSpring = 1e3;
  static Vector3d Start(std::size_t i) {
    const double x = static_cast<double>(i);
    return 1e4 * Vector3d(std::sin(3 * x), std::cos(5 * x), 0);
  }
  const bool uses_dual_;
  std::vector<Vector3d> v_;
  std::vector<FrictionDual> duals_;
};

TEST(FrictionDual, SlidersThatStickTakeAFractionOfTheIterations) {
  int iterations[2];
  for (const bool uses_dual : {false, true}) {
    Sliders sliders(20, uses_dual);
    std::vector<double> v(sliders.size());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1e3 * std::sin(7.0 * static_cast<double>(i));
    const std::vector<double> weights(v.size(), 1.0);
    NewtonResult result;
    DampedNewton().Solve(&sliders, weights, 1e4, {}, v, &result);
    iterations[uses_dual] = result.iterations;
    EXPECT_TRUE(!uses_dual || result.reason == StopReason::kConverged);
  }
  // 8; plain Newton's method gives up after 42
  EXPECT_LE(iterations[true], 10);
  EXPECT_GT(iterations[false], 4 * iterations[true]);
}

}  // namespace
}  // namespace pliant::solvers
