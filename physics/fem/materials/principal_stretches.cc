#include "physics/fem/materials/principal_stretches.h"

#include <limits>

#include <Eigen/LU>
#include <Eigen/SVD>

namespace pliant::physics {
namespace {

Lane DotColumns(const LaneMatrix3& A, int i, int j) {
  return A[3 * i] * A[3 * j] + A[3 * i + 1] * A[3 * j + 1] + A[3 * i + 2] * A[3 * j + 2];
}

// Columns i and j ← (c i − s j, s i + c j).
void RotateColumns(int i, int j, Lane c, Lane s, LaneMatrix3* A) {
  for (int r = 0; r < 3; ++r) {
    const Lane a = (*A)[3 * i + r], b = (*A)[3 * j + r];
    (*A)[3 * i + r] = c * a - s * b;
    (*A)[3 * j + r] = s * a + c * b;
  }
}

void CrossColumns(LaneMatrix3* A) {
  for (int r = 0; r < 3; ++r) {
    const int s = (r + 1) % 3, t = (r + 2) % 3;
    (*A)[6 + r] = (*A)[s] * (*A)[3 + t] - (*A)[t] * (*A)[3 + s];
  }
}

// Decomposes one lane that is flat in two directions or not finite.
void SolveAlone(const Eigen::Matrix3d& F, int lane, PrincipalStretches* result) {
  if (!F.allFinite()) {
    // NaN in, NaN out
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Insert(Eigen::Matrix3d::Constant(nan), lane, &result->U);
    Insert(Eigen::Matrix3d::Constant(nan), lane, &result->V);
    for (Lane& s : result->s) s[lane] = nan;
    return;
  }
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d U = svd.matrixU(), V = svd.matrixV();
  Eigen::Vector3d s = svd.singularValues();
  if (U.determinant() < 0) {
    U.col(2) = -U.col(2);
    s[2] = -s[2];
  }
  if (V.determinant() < 0) {
    V.col(2) = -V.col(2);
    s[2] = -s[2];
  }
  Insert(U, lane, &result->U);
  Insert(V, lane, &result->V);
  for (int i = 0; i < 3; ++i) result->s[i][lane] = s[i];
}

}  // namespace

PrincipalStretches CalcPrincipalStretches(const LaneMatrix3& F) {
  // one-sided Jacobi: rotations V from the right until the columns of B = F V are orthogonal
  LaneMatrix3 B = F;
  PrincipalStretches result;
  LaneMatrix3& V = result.V;
  V = {};
  for (int i = 0; i < 3; ++i) V[4 * i] = Splat(1);
  for (int sweep = 0; sweep < 12; ++sweep) {
    bool done = true;
    for (int i = 0; i < 2; ++i) {
      for (int j = i + 1; j < 3; ++j) {
        const Lane a = DotColumns(B, i, i), b = DotColumns(B, j, j), ab = DotColumns(B, i, j);
        const auto coupled = ab * ab > 1e-32 * a * b;
        // most pairs of the last sweeps are orthogonal already
        if (!Any(coupled)) continue;
        done = false;
        // tan of the angle that makes them orthogonal: the smaller root of t² + 2 ζ t − 1
        const Lane zeta = (b - a) / (2 * (coupled ? ab : Splat(1)));
        const Lane size = zeta < 0 ? -zeta : zeta;
        Lane t = 1 / (size + Sqrt(1 + zeta * zeta));
        t = zeta < 0 ? -t : t;
        t = coupled ? t : Splat(0);
        const Lane c = 1 / Sqrt(1 + t * t);
        RotateColumns(i, j, c, t * c, &B);
        RotateColumns(i, j, c, t * c, &V);
      }
    }
    if (done) break;
  }

  // sort with the largest first; flipping one column of a swap keeps V a rotation
  Lane square[3];
  for (int i = 0; i < 3; ++i) square[i] = DotColumns(B, i, i);
  for (const auto& [i, j] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    const auto swap = square[i] < square[j];
    const Lane c = swap ? Splat(0) : Splat(1), s = swap ? Splat(-1) : Splat(0);
    RotateColumns(i, j, c, s, &B);
    RotateColumns(i, j, c, s, &V);
    const Lane larger = swap ? square[j] : square[i];
    square[j] = swap ? square[i] : square[j];
    square[i] = larger;
  }
  LaneMatrix3& U = result.U;
  for (int i = 0; i < 2; ++i) {
    result.s[i] = Sqrt(square[i]);
    for (int r = 0; r < 3; ++r) U[3 * i + r] = B[3 * i + r] / result.s[i];
  }
  CrossColumns(&U);
  result.s[2] = U[6] * B[6] + U[7] * B[7] + U[8] * B[8];

  for (int l = 0; l < kLanes; ++l) {
    // also true for NaN
    if (!(result.s[1][l] > 1e-12 * result.s[0][l])) SolveAlone(Extract(F, l), l, &result);
  }
  return result;
}

}  // namespace pliant::physics
