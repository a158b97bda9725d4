#pragma once

#include <cmath>
#include <span>

#include <Eigen/Geometry>

namespace pliant::physics {

// The unit quaternion of a rotation matrix.
inline Eigen::Quaterniond UnitQuaternion(const Eigen::Matrix3d& R) {
  Eigen::Quaterniond rotation(R);
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  return rotation;
}

// Writes the seven numbers by which positions of a body are stored: the quaternion w, x, y, z, then
// the point [m].
inline void WritePose(const Eigen::Quaterniond& rotation, const Eigen::Vector3d& p,
                      std::span<double> q) {
  const double values[] = {rotation.w(), rotation.x(), rotation.y(), rotation.z(),
                           p.x(),        p.y(),        p.z()};
  for (int i = 0; i < 7; ++i) q[i] = values[i];
}

}  // namespace pliant::physics
