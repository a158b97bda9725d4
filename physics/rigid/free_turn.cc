#include "physics/rigid/free_turn.h"

#include <Eigen/LU>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d SolveAngularVelocity(const Matrix3d& inertia, const Matrix3d& R0, const Vector3d& L,
                              double h, const Vector3d& guess) {
  const Vector3d L_B = R0.transpose() * L;
  Vector3d w = R0.transpose() * guess;
  for (int k = 0; k < 50; ++k) {
    // Newton's method without the O(h²) terms of the tangent, which is then positive definite
    const Vector3d turned = RotationFromVector(-h * w) * L_B;
    const Matrix3d tangent = inertia - h * CrossMatrix(turned);
    const Vector3d change = tangent.inverse() * (turned - inertia * w);
    w += change;
    if (change.squaredNorm() <= 1e-28 * w.squaredNorm()) break;
  }
  return R0 * w;
}

}  // namespace pliant::physics
