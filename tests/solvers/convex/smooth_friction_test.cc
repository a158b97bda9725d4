#include "solvers/convex/smooth_friction.h"

#include <cmath>
#include <random>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kMu = 0.7, kSlip = 1e-3, kLagged = 0.4;
const Vector3d kR(2e-3, 2e-3, 0.03);
const Vector3d kVhat(0, 0, 0.02);

class SmoothFrictionLaws : public testing::TestWithParam<ContactLaw> {
 protected:
  // at a velocity of the contact
  SmoothContact At(const Vector3d& v) const {
    return EvaluateSmoothFriction(GetParam(), (kVhat - v).cwiseQuotient(kR), kR, kMu, kSlip,
                                  kLagged);
  }
  // velocities about the slip speed, pressing and parting
  template <typename F>
  void ForSome(const F& f) const {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> number(-1, 1);
    for (int k = 0; k < 200; ++k) {
      const double scale = std::pow(10.0, 2 * number(random)) * kSlip;
      f(Vector3d(scale * number(random), scale * number(random), 0.05 * number(random)));
    }
  }
};

TEST_P(SmoothFrictionLaws, ImpulseIsMinusTheGradientOfTheCost) {
  ForSome([&](const Vector3d& v) {
    const Vector3d gamma = At(v).projection.gamma;
    for (int i = 0; i < 3; ++i) {
      const Vector3d d = 1e-7 * Vector3d::Unit(i);
      // cubes of the difference are in proportion to n μ / ε²
      EXPECT_NEAR((At(v - d).cost - At(v + d).cost) / 2e-7, gamma[i], 1e-6) << v.transpose();
    }
  });
}

TEST_P(SmoothFrictionLaws, TangentIsMinusTheDerivativeOfTheImpulseAndConvex) {
  ForSome([&](const Vector3d& v) {
    const Matrix3d G = At(v).projection.G;
    const double size = G.norm();
    for (int i = 0; i < 3; ++i) {
      const Vector3d d = 1e-8 * Vector3d::Unit(i);
      const Vector3d difference = (At(v - d).projection.gamma - At(v + d).projection.gamma) / 2e-8;
      EXPECT_LT((difference - G.col(i)).norm(), 1e-5 * (size + 1)) << v.transpose();
    }
    EXPECT_LE((G - G.transpose()).norm(), 1e-15 * size);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix3d>(G).eigenvalues().minCoeff(), -1e-12 * (size + 1e-9));
  });
}

TEST_P(SmoothFrictionLaws, SlidingFeelsCoulombsForceAgainstItsVelocity) {
  const Vector3d v(0.3, -0.4, 0);
  const Vector3d gamma = At(v).projection.gamma;
  const double pressing = GetParam() == ContactLaw::kSimilar ? gamma.z() : kLagged;
  EXPECT_NEAR(gamma.head<2>().norm(), kMu * pressing, 1e-5 * pressing);
  EXPECT_NEAR(gamma.x() / gamma.y(), v.x() / v.y(), 1e-12);
  EXPECT_LT(gamma.x(), 0);
  EXPECT_EQ(At(v).projection.mode, ConeMode::kSlide);
  // only one of them presses the harder the faster it slides
  const double still = At(Vector3d::Zero()).projection.gamma.z();
  EXPECT_NEAR(still, kVhat.z() / kR.z(), 1e-12);
  if (GetParam() == ContactLaw::kSimilar) {
    EXPECT_GT(gamma.z(), still);
  } else {
    EXPECT_EQ(gamma.z(), still);
  }
}

TEST_P(SmoothFrictionLaws, WhatPartsFeelsNothing) {
  const SmoothContact parting = At({0, 0, 1});
  EXPECT_EQ(parting.projection.gamma, Vector3d(Vector3d::Zero()));
  EXPECT_EQ(parting.cost, 0);
}

INSTANTIATE_TEST_SUITE_P(Law, SmoothFrictionLaws,
                         testing::Values(ContactLaw::kSimilar, ContactLaw::kLagged),
                         [](const auto& info) {
                           return info.param == ContactLaw::kSimilar ? "Similar" : "Lagged";
                         });

}  // namespace
}  // namespace pliant::solvers
