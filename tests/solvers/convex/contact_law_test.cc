#include "solvers/convex/contact_law.h"

#include <cmath>
#include <random>
#include <string>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kMu = 0.7, kSlip = 1e-3, kLagged = 0.4;
const Vector3d kR(2e-3, 2e-3, 0.03);
const Vector3d kVhat(0, 0, 0.02);

class EveryContactLaw : public testing::TestWithParam<const ContactLaw*> {
 protected:
  // Response at a contact velocity.
  ContactResponse At(const Vector3d& v) const {
    return GetParam()->Respond(
        {v.head<2>(), (kVhat.z() - v.z()) / kR.z(), kR.z(), kMu, kSlip, kLagged});
  }
  bool is(const char* name) const { return GetParam()->name() == name; }
  // Calls f with velocities around the slip speed, approaching and separating.
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

TEST_P(EveryContactLaw, ImpulseIsMinusTheGradientOfTheCost) {
  ForSome([&](const Vector3d& v) {
    const Vector3d gamma = At(v).gamma;
    for (int i = 0; i < 3; ++i) {
      const Vector3d d = 1e-7 * Vector3d::Unit(i);
      // the cubic term of the difference is proportional to n μ / ε²
      EXPECT_NEAR((At(v - d).cost - At(v + d).cost) / 2e-7, gamma[i], 1e-6) << v.transpose();
    }
  });
}

TEST_P(EveryContactLaw, TangentIsMinusTheDerivativeOfTheImpulseAndConvex) {
  ForSome([&](const Vector3d& v) {
    const Matrix3d G = At(v).G;
    const double size = G.norm();
    for (int i = 0; i < 3; ++i) {
      const Vector3d d = 1e-8 * Vector3d::Unit(i);
      const Vector3d difference = (At(v - d).gamma - At(v + d).gamma) / 2e-8;
      EXPECT_LT((difference - G.col(i)).norm(), 1e-5 * (size + 1)) << v.transpose();
    }
    EXPECT_LE((G - G.transpose()).norm(), 1e-15 * size);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix3d>(G).eigenvalues().minCoeff(),
              -1e-12 * (size + 1e-9));
  });
}

TEST_P(EveryContactLaw, IsFoundByItsName) {
  EXPECT_EQ(FindContactLaw(GetParam()->name()), GetParam());
  EXPECT_EQ(FindContactLaw("CONE"), nullptr);
}

TEST_P(EveryContactLaw, FrictionOpposesSlip) {
  ForSome([&](const Vector3d& v) {
    const Vector3d gamma = At(v).gamma;
    EXPECT_GE(gamma.z(), 0);
    EXPECT_LE(gamma.head<2>().dot(v.head<2>()), 0) << v.transpose();
    EXPECT_LE(std::abs(gamma.x() * v.y() - gamma.y() * v.x()), 1e-12 * gamma.norm() * v.norm());
  });
}

// Laws that are registered elsewhere may have another friction than Coulomb's.
using CoulombContactLaw = EveryContactLaw;

TEST_P(CoulombContactLaw, SlidingFeelsMuTimesTheNormalForceAgainstItsVelocity) {
  const Vector3d v(0.3, -0.4, 0);
  const Vector3d gamma = At(v).gamma;
  const double pressing = is("SIMILAR") ? gamma.z() : kLagged;
  EXPECT_NEAR(gamma.head<2>().norm(), kMu * pressing, 1e-5 * pressing);
  EXPECT_NEAR(gamma.x() / gamma.y(), v.x() / v.y(), 1e-12);
  EXPECT_LT(gamma.x(), 0);
  // only SIMILAR increases the normal impulse with the sliding speed
  const double still = At(Vector3d::Zero()).gamma.z();
  EXPECT_NEAR(still, kVhat.z() / kR.z(), 1e-12);
  if (is("SIMILAR")) {
    EXPECT_GT(gamma.z(), still);
  } else {
    EXPECT_EQ(gamma.z(), still);
  }
}

TEST_P(EveryContactLaw, WhatPartsFeelsNothing) {
  const ContactResponse parting = At({0, 0, 1});
  EXPECT_EQ(parting.gamma, Vector3d(Vector3d::Zero()));
  EXPECT_EQ(parting.cost, 0);
}

INSTANTIATE_TEST_SUITE_P(Law, EveryContactLaw, testing::ValuesIn(AllContactLaws()),
                         [](const auto& info) { return std::string(info.param->name()); });

INSTANTIATE_TEST_SUITE_P(Law, CoulombContactLaw,
                         testing::Values(FindContactLaw("SIMILAR"), FindContactLaw("LAGGED")),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace pliant::solvers
