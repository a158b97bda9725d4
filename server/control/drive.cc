#include "server/control/drive.h"

#include <algorithm>
#include <cmath>

namespace pliant::server {
namespace {

Eigen::Vector3d Clamp(const Eigen::Vector3d& x, double largest) {
  const double size = x.norm();
  return size <= largest ? x : Eigen::Vector3d(x * (largest / size));
}

// Velocity that removes `error` as fast as braking at half the acceleration allows, without
// overshooting in one step.
Eigen::Vector3d CalcApproach(const Eigen::Vector3d& error, double gain, double largest,
                             double acceleration) {
  const double distance = error.norm();
  if (distance == 0) return error;
  const double speed = std::min({largest, distance * gain, std::sqrt(acceleration * distance)});
  return error * (speed / distance);
}

}  // namespace

void DriveTwist::Approach(const TwistGoal& wanted, const DriveLimits& limits, double h) {
  // clamp the velocity, and its change in this step
  linear += Clamp(Clamp(wanted.linear, limits.speed) - linear, limits.acceleration * h);
  angular += Clamp(Clamp(wanted.angular, limits.spin) - angular, limits.spin_acceleration * h);
}

TwistGoal CalcTwistTowards(const PoseGoal& goal, const Eigen::Vector3d& p,
                           const Eigen::Quaterniond& orientation, const DriveLimits& limits,
                           double gain, double h) {
  const double part = std::min(gain, 1 / h);
  return {CalcApproach(goal.position - p, part, limits.speed, limits.acceleration),
          CalcApproach(physics::VectorFromRotation(goal.orientation * orientation.conjugate()),
                       part, limits.spin, limits.spin_acceleration)};
}

void Drive::Engage(const physics::RigidTransform& X_WB) {
  p_ = X_WB.p;
  q_ = Eigen::Quaterniond(X_WB.R).normalized();
  twist_ = {};
  engaged_ = true;
}

physics::RigidTransform Drive::Advance(const std::optional<DriveGoal>& goal, double h) {
  TwistGoal wanted;
  if (goal && std::holds_alternative<TwistGoal>(*goal)) {
    wanted = std::get<TwistGoal>(*goal);
  } else if (goal) {
    wanted = CalcTwistTowards(std::get<PoseGoal>(*goal), p_, q_, limits_, 1 / h, h);
  }
  twist_.Approach(wanted, limits_, h);

  p_ += h * twist_.linear;
  if (!twist_.angular.isZero(0))
    q_ = (physics::RotationFromVector(h * twist_.angular) * q_).normalized();
  return {q_.toRotationMatrix(), p_};
}

}  // namespace pliant::server
