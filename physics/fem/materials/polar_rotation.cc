#include "physics/fem/materials/polar_rotation.h"

#include <cmath>

#include <Eigen/LU>
#include <Eigen/SVD>

namespace pliant::physics {
namespace {

Lane SquaredNorm(const LaneMatrix3& A) {
  Lane sum = A[0] * A[0];
  for (int i = 1; i < 9; ++i) sum += A[i] * A[i];
  return sum;
}

// cofactors of A: A⁻ᵀ det A
LaneMatrix3 Cofactors(const LaneMatrix3& A) {
  return {A[4] * A[8] - A[7] * A[5], A[6] * A[5] - A[3] * A[8], A[3] * A[7] - A[6] * A[4],
          A[7] * A[2] - A[1] * A[8], A[0] * A[8] - A[6] * A[2], A[6] * A[1] - A[0] * A[7],
          A[1] * A[5] - A[4] * A[2], A[3] * A[2] - A[0] * A[5], A[0] * A[4] - A[3] * A[1]};
}

}  // namespace

Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d U = svd.matrixU();
  // turn the direction of the smallest stretch when a reflection would come out
  if (U.determinant() * svd.matrixV().determinant() < 0) U.col(2) = -U.col(2);
  return U * svd.matrixV().transpose();
}

LaneMatrix3 CalcPolarRotations(const LaneMatrix3& F) {
  // Newton's iteration R ← ½ (g R + R⁻ᵀ / g), scaled while far from orthogonal (Higham)
  LaneMatrix3 R = F;
  for (int k = 0; k < 9; ++k) {
    const LaneMatrix3 C = Cofactors(R);
    const Lane det = R[0] * C[0] + R[1] * C[1] + R[2] * C[2];
    Lane g = Splat(1.0);
    if (k < 3) {
      const Lane ratio = SquaredNorm(C) / (det * det * SquaredNorm(R));
      for (int l = 0; l < kLanes; ++l) g[l] = std::sqrt(std::sqrt(ratio[l]));
    }
    const Lane a = 0.5 * g;
    const Lane b = 0.5 / (g * det);
    for (int i = 0; i < 9; ++i) R[i] = a * R[i] + b * C[i];
  }

  // inverted, flat or very stretched: the singular value decomposition
  for (int l = 0; l < kLanes; ++l) {
    const Eigen::Matrix3d rotation = Extract(R, l);
    const double error =
        (rotation.transpose() * rotation - Eigen::Matrix3d::Identity()).squaredNorm();
    if (error < 1e-28 && rotation.determinant() > 0) continue;
    const Eigen::Matrix3d exact = CalcPolarRotation(Extract(F, l));
    for (int i = 0; i < 9; ++i) R[i][l] = exact.data()[i];
  }
  return R;
}

}  // namespace pliant::physics
