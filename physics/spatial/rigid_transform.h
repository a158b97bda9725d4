#pragma once

#include <span>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace pliant::physics {

// Pose X_AB of frame B in frame A: maps p_B to p_A = R_AB p_B + p_ABo.
struct RigidTransform {
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Vector3d p = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& p_B) const { return R * p_B + p; }
  RigidTransform operator*(const RigidTransform& X_BC) const {
    return {R * X_BC.R, R * X_BC.p + p};
  }
  RigidTransform Inverse() const { return {R.transpose(), -(R.transpose() * p)}; }
};

// Rotation by the vector `angle_axis` [rad]: the exponential map, deterministic on every machine.
Eigen::Quaterniond RotationFromVector(const Eigen::Vector3d& angle_axis);

// Inverse of the above, angle in [0, π].
Eigen::Vector3d VectorFromRotation(const Eigen::Quaterniond& rotation);

// Left Jacobian of SO(3): ∂ log(exp(x + dx) exp(−x))/∂dx at dx = 0 for a rotation vector x [rad].
Eigen::Matrix3d CalcRotationTangent(const Eigen::Vector3d& x);

// Roll, pitch, yaw [rad] about fixed x, y, z.
Eigen::Quaterniond RotationFromRollPitchYaw(const Eigen::Vector3d& rpy);

// [0, −z, y; z, 0, −x; −y, x, 0]
Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v);

// A rotation whose third column is the unit vector n; a fixed, smooth-almost-everywhere choice of
// tangents.
Eigen::Matrix3d FrameFromNormal(const Eigen::Vector3d& n);

// Three numbers of `x`, from its `first` on.
inline Eigen::Vector3d VectorAt(std::span<const double> x, int first) {
  return {x[first], x[first + 1], x[first + 2]};
}

// The quaternion (w, x, y, z) that `q` begins with.
inline Eigen::Quaterniond RotationAt(std::span<const double> q) {
  return {q[0], q[1], q[2], q[3]};
}

}  // namespace pliant::physics
