#include "solvers/problem/friction_cone.h"

#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

double Cost(const Vector3d& y, const Vector3d& R, double mu) {
  const Vector3d gamma = ProjectImpulse(y, R, mu);
  return 0.5 * gamma.dot(R.cwiseProduct(gamma));
}

class FrictionConeTest : public ::testing::Test {
 protected:
  FrictionConeTest() : random_(5), uniform_(-1, 1) {}
  Vector3d RandomVector() { return {uniform_(random_), uniform_(random_), uniform_(random_)}; }
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_;
};

TEST_F(FrictionConeTest, ProjectionIsTheNearestPointOfTheConeInTheNormOfR) {
  const Vector3d R(0.3, 0.3, 0.07);
  for (const double mu : {0.0, 0.2, 1.0, 3.0}) {
    for (int k = 0; k < 300; ++k) {
      const Vector3d y = RandomVector();
      const Vector3d gamma = ProjectImpulse(y, R, mu);
      EXPECT_LE(gamma.head<2>().norm(), mu * gamma.z() * (1 + 1e-15) + 1e-300);
      // no other point of the cone is closer
      const double distance = (gamma - y).dot(R.cwiseProduct(gamma - y));
      for (int l = 0; l < 20; ++l) {
        Vector3d other = gamma + 0.1 * RandomVector();
        other.z() = std::max(other.z(), 0.0);
        const double length = other.head<2>().norm();
        if (length > mu * other.z()) other.head<2>() *= mu * other.z() / length;
        EXPECT_GE((other - y).dot(R.cwiseProduct(other - y)), distance * (1 - 1e-12));
      }
    }
  }
}

TEST_F(FrictionConeTest, ImpulseIsTheGradientOfTheCostAndGItsDerivative) {
  const Vector3d R(0.02, 0.02, 0.1);
  const double mu = 0.6, d = 1e-6;
  int compared = 0;
  for (int k = 0; k < 500; ++k) {
    const Vector3d v = 0.1 * RandomVector();
    const ConeProjection p = ProjectOntoFrictionCone(-v.cwiseQuotient(R), R, mu);
    // stay away from kinks: the mode is the same on both sides
    bool smooth = true;
    Vector3d slope;
    Matrix3d G;
    for (int i = 0; i < 3; ++i) {
      const Vector3d e = d * Vector3d::Unit(i);
      const ConeProjection high = ProjectOntoFrictionCone(-(v + e).cwiseQuotient(R), R, mu);
      const ConeProjection low = ProjectOntoFrictionCone(-(v - e).cwiseQuotient(R), R, mu);
      smooth = smooth && high.mode == p.mode && low.mode == p.mode;
      slope[i] = (Cost(-(v + e).cwiseQuotient(R), R, mu) - Cost(-(v - e).cwiseQuotient(R), R, mu)) /
                 (2 * d);
      G.col(i) = -(high.gamma - low.gamma) / (2 * d);
    }
    EXPECT_LT((slope + p.gamma).norm(), 1e-7 * (1 + p.gamma.norm()));
    EXPECT_LT((p.G - p.G.transpose()).norm(), 1e-12 * (1 + p.G.norm()));
    EXPECT_GE(Eigen::SelfAdjointEigenSolver<Matrix3d>(p.G).eigenvalues()[0], -1e-10);
    if (smooth) {
      EXPECT_LT((p.G - G).norm(), 1e-4 * (1 + G.norm()));
      ++compared;
    }
  }
  EXPECT_GT(compared, 450);
}

TEST_F(FrictionConeTest, SlidingImpulseLiesOnTheConeAndOpposesSlip) {
  const Vector3d R(1e-3, 1e-3, 1e-2);
  for (int k = 0; k < 500; ++k) {
    Vector3d v = RandomVector();
    v.z() = -std::abs(v.z());
    const ConeProjection p = ProjectOntoFrictionCone(-v.cwiseQuotient(R), R, 0.5);
    if (p.mode != ConeMode::kSlide) continue;
    EXPECT_NEAR(p.gamma.head<2>().norm(), 0.5 * p.gamma.z(), 1e-12 * p.gamma.z());
    EXPECT_NEAR(p.gamma.head<2>().normalized().dot(v.head<2>().normalized()), -1, 1e-12);
  }
}

TEST_F(FrictionConeTest, OpenContactWithoutFrictionOrSlipExertsNothing) {
  const ConeProjection projection =
      ProjectOntoFrictionCone(Vector3d(0, 0, -2), Vector3d(0.1, 0.1, 0.3), 0);
  EXPECT_EQ(projection.mode, ConeMode::kOpen);
  EXPECT_TRUE(projection.gamma.isZero(0));
  EXPECT_TRUE(projection.G.isZero(0));
}

TEST_F(FrictionConeTest, ClipLeavesThePressureAndFindsTheNearestFriction) {
  for (int k = 0; k < 300; ++k) {
    const Vector3d impulse = RandomVector();
    const double mu = std::abs(uniform_(random_));
    const Vector3d clipped = ClipToCone(impulse, mu);
    EXPECT_EQ(clipped.z(), std::max(impulse.z(), 0.0));
    const double limit = mu * clipped.z(), length = impulse.head<2>().norm();
    if (length <= limit) {
      EXPECT_EQ(clipped.head<2>(), impulse.head<2>());
      continue;
    }
    // on the rim, in the same direction, up to three roundings
    EXPECT_NEAR(clipped.head<2>().norm(), limit, 4e-16 * limit);
    EXPECT_LT((clipped.head<2>() * length - limit * impulse.head<2>()).norm(), 1e-15);
    // a vector in the cone stays as it is
    EXPECT_LT((ClipToCone(clipped, mu) - clipped).norm(), 1e-15);
  }
  // bounds of a scalar row, which has no friction
  EXPECT_EQ(ClipToCone(Vector3d(0, 0, 3), 0, -2, 2), Vector3d(0, 0, 2));
  EXPECT_EQ(ClipToCone(Vector3d(0, 0, -3), 0, -2, 2), Vector3d(0, 0, -2));
}

}  // namespace
}  // namespace pliant::solvers
