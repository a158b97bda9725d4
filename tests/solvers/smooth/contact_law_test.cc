#include "solvers/smooth/contact_law.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

SmoothContactLaw MakeLaw() {
  SmoothContactLaw law;
  law.stiffness = 2000;
  law.friction = 0.5;
  law.static_friction = 1.5;
  law.stribeck_speed = 0.01;
  law.viscous = 3;
  return law;
}

TEST(SmoothContactLaw, NormalForceIsTheDerivativeOfTheCubicPenalty) {
  const SmoothContactLaw law = MakeLaw();
  const auto energy = [&](double gap) {
    const double depth = std::max(0.0, law.distance - gap);
    return law.stiffness / law.distance * depth * depth * depth;
  };
  const double step = 1e-8;
  for (const double gap : {-5e-4, 0.0, 3e-4, 9e-4, 1.2e-3}) {
    const double difference = (energy(gap - step) - energy(gap + step)) / (2 * step);
    // the third derivative 6 K/δ times step²/6, and rounding
    EXPECT_NEAR(CalcPenaltyForce(law, gap), difference,
                1e-7 + law.stiffness / law.distance * 1e-15);
  }
}

TEST(SmoothContactLaw, BarrierForceIsTheDerivativeOfTheBarrier) {
  const SmoothContactLaw law = MakeLaw();
  const double at_half = 0.5 * law.distance;
  const double B =
      CalcPenaltyForce(law, at_half) / (law.stiffness * law.distance * (std::log(2.0) + 0.5));
  const auto energy = [&](double gap) {
    const double depth = std::max(0.0, law.distance - gap);
    return -B * law.stiffness * depth * depth * std::log(gap / law.distance);
  };
  const auto force = [&](double gap) {
    return CalcBarrierForce(law, gap, std::log(gap / law.distance));
  };
  EXPECT_NEAR(force(at_half), CalcPenaltyForce(law, at_half), 1e-15 * force(at_half));
  for (const double gap : {1e-6, 1e-4, 5e-4, 9.9e-4, 1.2e-3}) {
    const double step = 1e-4 * gap;
    const double difference = (energy(gap - step) - energy(gap + step)) / (2 * step);
    // near δ the third derivative is 6 B K/δ
    EXPECT_NEAR(force(gap), difference,
                1e-6 * force(gap) + law.stiffness / law.distance * step * step)
        << gap;
  }
  EXPECT_EQ(force(1.2e-3), 0);
}

// Friction [N] at a gap of 0 and a normal force of 10 N.
Vector3d FrictionOf(const SmoothContactLaw& law, const Vector3d& u, const Vector3d& stretch) {
  return CalcFriction<double>(law, 10.0, 0.0, u,
                              CalcFrictionDirection<double>((u + stretch) / law.stick_speed));
}
// Against slip along x.
double FrictionAt(const SmoothContactLaw& law, double speed) {
  return -FrictionOf(law, Vector3d(speed, 0, 0), Vector3d::Zero()).x();
}

TEST(SmoothContactLaw, FrictionAndItsSlopeAreContinuous) {
  const SmoothContactLaw law = MakeLaw();
  for (const double speed : {law.stick_speed, law.stribeck_speed}) {
    // the slopes on both sides differ by the second derivative times the distance, at most some
    // 4 μ λ/ε² · 2e-7
    const double d = 1e-7;
    const double before = (FrictionAt(law, speed) - FrictionAt(law, speed - d)) / d,
                 after = (FrictionAt(law, speed + d) - FrictionAt(law, speed)) / d;
    EXPECT_NEAR(before, after, 4 * 15 / (law.stick_speed * law.stick_speed) * 2 * d);
  }
}

TEST(SmoothContactLaw, FrictionFallsToItsSlidingValueAtTheStribeckSpeed) {
  SmoothContactLaw law = MakeLaw();
  law.viscous = 0;
  EXPECT_DOUBLE_EQ(FrictionAt(law, 2 * law.stribeck_speed), 5);
  // μ_d + (μ_s − μ_d) g(0.5) with g(0.5) = 0.5
  EXPECT_NEAR(FrictionAt(law, 0.5 * law.stribeck_speed), 10, 1e-12);
}

TEST(SmoothContactLaw, ViscousFrictionFadesWithTheGap) {
  SmoothContactLaw law = MakeLaw();
  const Vector3d u(0.1, 0, 0), zero = Vector3d::Zero();
  const auto at = [&](double gap) { return -CalcFriction<double>(law, 0.0, gap, u, zero).x(); };
  EXPECT_DOUBLE_EQ(at(0.5e-3), 0.3);
  EXPECT_DOUBLE_EQ(at(1e-3), 0);
  EXPECT_NEAR(at(0.875e-3), 0.15, 1e-12);
}

TEST(SmoothContactLaw, AStretchedAnchorHoldsWithoutSlip) {
  const SmoothContactLaw law = MakeLaw();
  const Vector3d stretch(0.25 * law.stick_speed, 0, 0), none = Vector3d::Zero();
  // μ_s λ s(¼) = 15 · 7/16
  EXPECT_NEAR(-FrictionOf(law, none, stretch).x(), 15 * 7.0 / 16, 1e-12);
}

}  // namespace
}  // namespace pliant::solvers
