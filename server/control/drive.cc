#include "server/control/drive.h"

#include <algorithm>
#include <cmath>

namespace pliant::server {
namespace {

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

Eigen::Vector3d ClampLength(const Eigen::Vector3d& x, double largest) {
  // the square of a huge number is infinite
  const double scale = x.cwiseAbs().maxCoeff();
  if (scale > 1e100) return ClampLength(x / scale * 1e100, largest);
  const double size = x.norm();
  return size <= largest ? x : Eigen::Vector3d(x * (largest / size));
}

void DriveTwist::Approach(const TwistGoal& wanted, const DriveLimits& limits, double h) {
  // clamp the velocity, and its change in this step
  linear += ClampLength(ClampLength(wanted.linear, limits.speed) - linear, limits.acceleration * h);
  angular +=
      ClampLength(ClampLength(wanted.angular, limits.spin) - angular, limits.spin_acceleration * h);
}

void DriveTwist::Load(const double* from) {
  linear = Eigen::Map<const Eigen::Vector3d>(from);
  angular = Eigen::Map<const Eigen::Vector3d>(from + 3);
}

void DriveTwist::Save(std::vector<double>* to) const {
  to->insert(to->end(), linear.begin(), linear.end());
  to->insert(to->end(), angular.begin(), angular.end());
}

TwistGoal CalcTwistTowards(const PoseGoal& goal, const Eigen::Vector3d& p,
                           const Eigen::Quaterniond& orientation, const DriveLimits& limits,
                           double gain, double h) {
  const double part = std::min(gain, 1 / h);
  return {CalcApproach(goal.position - p, part, limits.speed, limits.acceleration),
          CalcApproach(physics::VectorFromRotation(goal.orientation * orientation.conjugate()),
                       part, limits.spin, limits.spin_acceleration)};
}

void KeepWithin(const DriveLimits& limits, const Eigen::Vector3d& p, double h, TwistGoal* wanted) {
  const auto stop_within = [&](double room) {
    return room > 0 ? std::min(room / h, std::sqrt(limits.acceleration * room)) : 0.0;
  };
  for (int i = 0; i < 3; ++i) {
    wanted->linear[i] = std::clamp(wanted->linear[i], -stop_within(p[i] - limits.lower[i]),
                                   stop_within(limits.upper[i] - p[i]));
  }
}

void Drive::Load(const double* from) {
  engaged_ = from[0] != 0;
  p_ = Eigen::Map<const Eigen::Vector3d>(from + 1);
  q_.coeffs() = Eigen::Map<const Eigen::Vector4d>(from + 4);
  // a state from elsewhere may not contain a valid rotation
  if (!(std::abs(q_.squaredNorm() - 1) < 1e-6)) engaged_ = false;
  twist_.Load(from + 8);
}

void Drive::Save(std::vector<double>* to) const {
  to->push_back(engaged_);
  to->insert(to->end(), p_.begin(), p_.end());
  to->insert(to->end(), q_.coeffs().begin(), q_.coeffs().end());
  twist_.Save(to);
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
  KeepWithin(limits_, p_, h, &wanted);
  twist_.Approach(wanted, limits_, h);

  p_ += h * twist_.linear;
  if (!twist_.angular.isZero(0))
    q_ = (physics::RotationFromVector(h * twist_.angular) * q_).normalized();
  return {q_.toRotationMatrix(), p_};
}

}  // namespace pliant::server
