#include "physics/spatial/rigid_transform.h"

#include <cmath>

#include "physics/spatial/trig.h"

namespace pliant::physics {

Eigen::Quaterniond RotationFromVector(const Eigen::Vector3d& angle_axis) {
  const double angle = std::sqrt(angle_axis.squaredNorm());
  const SinCos half = CalcSinCos(angle / 2);
  // sin(a/2)/a → ½ − a²/48 as the angle vanishes
  const double scale = angle > 1e-6 ? half.sin / angle : 0.5 - angle * angle / 48;
  return {half.cos, scale * angle_axis.x(), scale * angle_axis.y(), scale * angle_axis.z()};
}

Eigen::Vector3d VectorFromRotation(const Eigen::Quaterniond& rotation) {
  const double sign = rotation.w() < 0 ? -1 : 1;
  const Eigen::Vector3d axis = sign * rotation.vec();
  const double s = std::sqrt(axis.squaredNorm());
  const double angle = 2 * CalcAtan2(s, sign * rotation.w());
  return s > 1e-9 ? Eigen::Vector3d(axis * (angle / s)) : Eigen::Vector3d(2 * axis);
}

Eigen::Matrix3d CalcRotationTangent(const Eigen::Vector3d& x) {
  const double squared = x.squaredNorm(), angle = std::sqrt(squared);
  double a = 0.5 - squared / 24, b = 1.0 / 6 - squared / 120;  // within 1e-17 below 1e-4
  if (angle > 1e-4) {
    const SinCos of = CalcSinCos(angle), half = CalcSinCos(0.5 * angle);
    a = 2 * half.sin * half.sin / squared;
    b = (angle - of.sin) / (squared * angle);
  }
  const Eigen::Matrix3d cross = CrossMatrix(x);
  return Eigen::Matrix3d::Identity() + a * cross + b * cross * cross;
}

Eigen::Quaterniond RotationFromRollPitchYaw(const Eigen::Vector3d& rpy) {
  return RotationFromVector({0, 0, rpy.z()}) * RotationFromVector({0, rpy.y(), 0}) *
         RotationFromVector({rpy.x(), 0, 0});
}

Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m.col(0) = Eigen::Vector3d(0, v.z(), -v.y());
  m.col(1) = Eigen::Vector3d(-v.z(), 0, v.x());
  m.col(2) = Eigen::Vector3d(v.y(), -v.x(), 0);
  return m;
}

Eigen::Matrix3d FrameFromNormal(const Eigen::Vector3d& n) {
  // the coordinate axis least aligned with n gives the best-conditioned tangent
  int axis = 0;
  if (std::abs(n.y()) < std::abs(n[axis])) axis = 1;
  if (std::abs(n.z()) < std::abs(n[axis])) axis = 2;
  Eigen::Vector3d t = Eigen::Vector3d::Unit(axis);
  t -= n * n.dot(t);
  t /= std::sqrt(t.squaredNorm());
  Eigen::Matrix3d frame;
  frame.col(0) = t;
  frame.col(1) = n.cross(t);
  frame.col(2) = n;
  return frame;
}

}  // namespace pliant::physics
