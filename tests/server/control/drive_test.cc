#include "server/control/drive.h"

#include <cmath>
#include <cstring>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using Eigen::Vector3d;

constexpr double kH = 0.01;  // [s]

physics::RigidTransform SomePose() {
  return {Eigen::AngleAxisd(0.7, Vector3d(1, 2, 3).normalized()).toRotationMatrix(),
          Vector3d(0.1, -0.2, 0.3)};
}

TEST(Drive, EngagingDoesNotMoveTheBody) {
  Drive drive;
  drive.Engage(SomePose());
  const physics::RigidTransform X = drive.Advance(std::nullopt, kH);
  EXPECT_LT((X.p - SomePose().p).norm(), 1e-15);
  EXPECT_LT((X.R - SomePose().R).norm(), 1e-14);
}

TEST(Drive, SpeedAndAccelerationStayWithinTheLimits) {
  const DriveLimits limits;
  Drive drive;
  drive.Engage({});
  Vector3d v = Vector3d::Zero(), w = Vector3d::Zero(), p = Vector3d::Zero();
  for (int step = 0; step < 200; ++step) {
    // extreme commands that reverse every twenty steps
    const double sign = step / 20 % 2 == 0 ? 1 : -1;
    const physics::RigidTransform X =
        drive.Advance(TwistGoal{sign * Vector3d(50, -30, 1e6), sign * Vector3d(0, 1e9, 100)}, kH);
    EXPECT_LE(drive.linear_velocity().norm(), limits.speed * (1 + 1e-12));
    EXPECT_LE(drive.angular_velocity().norm(), limits.spin * (1 + 1e-12));
    EXPECT_LE((drive.linear_velocity() - v).norm(), limits.acceleration * kH * (1 + 1e-12));
    EXPECT_LE((drive.angular_velocity() - w).norm(), limits.spin_acceleration * kH * (1 + 1e-12));
    EXPECT_LE((X.p - p).norm(), limits.speed * kH * (1 + 1e-12));
    EXPECT_NEAR(X.R.determinant(), 1, 1e-12);
    v = drive.linear_velocity();
    w = drive.angular_velocity();
    p = X.p;
  }
}

TEST(Drive, ReachesTheTwistAskedForAndRampsToRestWithoutOne) {
  Drive drive;
  drive.Engage({});
  for (int step = 0; step < 20; ++step)
    drive.Advance(TwistGoal{Vector3d(0.5, 0, 0), Vector3d(0, 0, 2)}, kH);
  EXPECT_DOUBLE_EQ(drive.linear_velocity().x(), 0.5);
  EXPECT_DOUBLE_EQ(drive.angular_velocity().z(), 2);

  // a ramp, not a jump: 0.5 m/s at 10 m/s² takes five steps of 10 ms
  drive.Advance(std::nullopt, kH);
  EXPECT_NEAR(drive.linear_velocity().x(), 0.4, 1e-12);
  for (int step = 0; step < 5; ++step) drive.Advance(std::nullopt, kH);
  EXPECT_TRUE(drive.at_rest());
  const Vector3d p = drive.Advance(std::nullopt, kH).p;
  EXPECT_EQ(p, drive.Advance(std::nullopt, kH).p);
}

TEST(Drive, PoseIsReachedWithoutOvershoot) {
  Drive drive;
  drive.Engage({});
  const PoseGoal goal{Vector3d(0.4, 0, 0),
                      Eigen::Quaterniond(Eigen::AngleAxisd(1.2, Vector3d::UnitZ()))};
  physics::RigidTransform X;
  for (int step = 0; step < 200; ++step) {
    X = drive.Advance(goal, kH);
    EXPECT_LE(X.p.x(), 0.4 + 1e-9);
  }
  EXPECT_NEAR(X.p.x(), 0.4, 1e-6);
  EXPECT_LT((X.R - goal.orientation.toRotationMatrix()).norm(), 1e-5);
}

TEST(Drive, SameCallsGiveTheSameBits) {
  const auto run = [] {
    Drive drive;
    drive.Engage(SomePose());
    physics::RigidTransform X;
    for (int step = 0; step < 100; ++step) {
      X = drive.Advance(
          step % 30 < 20 ? std::optional<DriveGoal>(TwistGoal{Vector3d(1, 2, 3), Vector3d(3, 2, 1)})
                         : std::nullopt,
          kH);
    }
    return X;
  };
  const physics::RigidTransform a = run(), b = run();
  EXPECT_EQ(std::memcmp(a.p.data(), b.p.data(), sizeof(double) * 3), 0);
  EXPECT_EQ(std::memcmp(a.R.data(), b.R.data(), sizeof(double) * 9), 0);
}

}  // namespace
}  // namespace pliant::server
