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

}  // namespace

Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d U = svd.matrixU();
  // flip the direction of the smallest stretch if the result would be a reflection
  if (U.determinant() * svd.matrixV().determinant() < 0) U.col(2) = -U.col(2);
  return U * svd.matrixV().transpose();
}

LaneMatrix3 CalcPolarRotations(const LaneMatrix3& F) {
  // Newton's iteration R ← ½ (g R + R⁻ᵀ / g), scaled while far from orthogonal (Higham). It
  // converges quadratically: after a change of 2e-8, the error is below rounding
  constexpr int kMaxIterations = 10, kScaled = 3;
  LaneMatrix3 R = F;
  for (int k = 0; k < kMaxIterations; ++k) {
    const LaneMatrix3 C = CalcCofactors(R);
    const Lane det = R[0] * C[0] + R[1] * C[1] + R[2] * C[2];
    Lane g = Splat(1.0);
    if (k < kScaled) {
      const Lane squares = SquaredNorm(R);
      if (!All((squares > 2.5) & (squares < 3.5) & (det > 0.8)))
        g = Sqrt(Sqrt(SquaredNorm(C) / (det * det * squares)));
    }
    const Lane a = 0.5 * g;
    const Lane b = 0.5 / (g * det);
    Lane change{};
    for (int i = 0; i < 9; ++i) {
      const Lane next = a * R[i] + b * C[i];
      change += (next - R[i]) * (next - R[i]);
      R[i] = next;
    }
    if (All(change < 4e-16)) break;
  }

  // use the singular value decomposition for inverted, flat or very stretched elements
  Lane error{};
  for (int i = 0; i < 3; ++i) {
    const Lane* x = &R[3 * i];
    const Lane* y = &R[3 * ((i + 1) % 3)];
    const Lane length = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1.0;
    const Lane angle = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    error += length * length + 2 * angle * angle;
  }
  const LaneMatrix3 C = CalcCofactors(R);
  const auto is_rotation = (error < 1e-28) & (R[0] * C[0] + R[1] * C[1] + R[2] * C[2] > 0);
  if (All(is_rotation)) return R;
  for (int l = 0; l < kLanes; ++l) {
    if (is_rotation[l] == 0) Insert(CalcPolarRotation(Extract(F, l)), l, &R);
  }
  return R;
}

LaneMatrix3 CalcStretches(const LaneMatrix3& R, const LaneMatrix3& F) {
  LaneMatrix3 S;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r)
      S[3 * c + r] =
          R[3 * r] * F[3 * c] + R[3 * r + 1] * F[3 * c + 1] + R[3 * r + 2] * F[3 * c + 2];
  }
  return S;
}

}  // namespace pliant::physics
