#include "physics/spatial/trig.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {
namespace {

TEST(Trig, SineAndCosineAgreeWithTheLibraryWithinTwoUlp) {
  for (int i = -200000; i <= 200000; ++i) {
    const double x = i * 1.2345e-3;
    const SinCos a = CalcSinCos(x);
    // 2 ulp of a result of magnitude up to 1, plus the reduction's error near zeros
    EXPECT_NEAR(a.sin, std::sin(x), 4.5e-16) << x;
    EXPECT_NEAR(a.cos, std::cos(x), 4.5e-16) << x;
  }
}

TEST(Trig, ManyAnglesAtOnceHaveTheBitsOfEachByItself) {
  std::vector<double> angles{0, -0.0, 1e5, -1e5};
  for (int i = 0; i < 10000; ++i) angles.push_back((i - 5000) * 1.2345e-3 * (1 + i % 11));
  for (const std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 10004u}) {
    std::vector<SinCos> all(count);
    CalcSinCos({angles.data(), count}, all);
    for (std::size_t i = 0; i < count; ++i) {
      const SinCos one = CalcSinCos(angles[i]);
      ASSERT_EQ(all[i].sin, one.sin) << angles[i];
      ASSERT_EQ(all[i].cos, one.cos) << angles[i];
    }
  }
}

TEST(Trig, ArcTangentAgreesInEveryQuadrant) {
  for (int i = 0; i < 100000; ++i) {
    const double angle = -3.14159 + i * 6.28318e-5;
    const double r = 1 + i % 7;
    const double y = r * std::sin(angle), x = r * std::cos(angle);
    EXPECT_NEAR(CalcAtan2(y, x), std::atan2(y, x), 9e-16) << angle;
  }
  EXPECT_EQ(CalcAtan2(0, 0), 0);
  EXPECT_NEAR(CalcAcos(-1), kPi, 5e-16);
  EXPECT_NEAR(CalcAcos(2), 0, 0);
}

TEST(Rotation, VectorAndQuaternionAreInverse) {
  for (int i = 1; i < 300; ++i) {
    const Eigen::Vector3d v = Eigen::Vector3d(0.3 * i, -1, 0.01 * i * i).normalized() * (i * 0.01);
    EXPECT_LT((VectorFromRotation(RotationFromVector(v)) - v).norm(), 1e-14) << i;
  }
  EXPECT_LT(VectorFromRotation(RotationFromVector(Eigen::Vector3d(1e-12, 0, 0))).y(), 1e-20);
}

TEST(Rotation, RollPitchYawTurnsAboutFixedAxes) {
  const Eigen::Matrix3d R = RotationFromRollPitchYaw({0.3, -0.5, 1.1}).toRotationMatrix();
  const Eigen::Matrix3d expected = (Eigen::AngleAxisd(1.1, Eigen::Vector3d::UnitZ()) *
                                    Eigen::AngleAxisd(-0.5, Eigen::Vector3d::UnitY()) *
                                    Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitX()))
                                       .toRotationMatrix();
  EXPECT_LT((R - expected).norm(), 1e-15);
}

TEST(Rotation, FrameFromNormalIsARotationWithThatThirdColumn) {
  for (int i = 0; i < 100; ++i) {
    const Eigen::Vector3d n = Eigen::Vector3d(i - 50, 2 * i - 70, 30 - i).normalized();
    const Eigen::Matrix3d R = FrameFromNormal(n);
    EXPECT_LT((R.transpose() * R - Eigen::Matrix3d::Identity()).norm(), 1e-15);
    EXPECT_NEAR(R.determinant(), 1, 1e-15);
    EXPECT_EQ(R.col(2), n);
  }
}

}  // namespace
}  // namespace pliant::physics
