#include "server/control/drive.h"

#include <algorithm>
#include <cmath>

namespace pliant::server {
namespace {

Eigen::Vector3d Clamp(const Eigen::Vector3d& x, double largest) {
  const double size = x.norm();
  return size <= largest ? x : Eigen::Vector3d(x * (largest / size));
}

// velocity that reaches `error` as soon as braking at half the acceleration allows, and never overshoots in one step
Eigen::Vector3d Approach(const Eigen::Vector3d& error, double h, double largest,
                         double acceleration) {
  const double distance = error.norm();
  if (distance == 0) return error;
  const double speed = std::min({largest, distance / h, std::sqrt(acceleration * distance)});
  return error * (speed / distance);
}

}  // namespace

void Drive::Engage(const physics::RigidTransform& X_WB) {
  p_ = X_WB.p;
  q_ = Eigen::Quaterniond(X_WB.R).normalized();
  v_.setZero();
  w_.setZero();
  engaged_ = true;
}

physics::RigidTransform Drive::Advance(const std::optional<DriveGoal>& goal, double h) {
  TwistGoal wanted;
  if (goal && std::holds_alternative<TwistGoal>(*goal)) {
    wanted = std::get<TwistGoal>(*goal);
  } else if (goal) {
    const PoseGoal& pose = std::get<PoseGoal>(*goal);
    wanted.linear = Approach(pose.position - p_, h, limits_.speed, limits_.acceleration);
    wanted.angular = Approach(physics::VectorFromRotation(pose.orientation * q_.conjugate()), h,
                              limits_.spin, limits_.spin_acceleration);
  }

  // no faster than allowed, and no faster there than allowed
  v_ += Clamp(Clamp(wanted.linear, limits_.speed) - v_, limits_.acceleration * h);
  w_ += Clamp(Clamp(wanted.angular, limits_.spin) - w_, limits_.spin_acceleration * h);

  p_ += h * v_;
  if (!w_.isZero(0)) q_ = (physics::RotationFromVector(h * w_) * q_).normalized();
  return {q_.toRotationMatrix(), p_};
}

}  // namespace pliant::server
