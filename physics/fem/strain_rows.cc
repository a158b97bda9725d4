#include "physics/fem/strain_rows.h"

#include <cmath>

#include <Eigen/Eigenvalues>

namespace pliant::physics {
namespace {

using Matrix6d = Eigen::Matrix<double, 6, 6>;

// 1/√2, and the axis pairs of the last three components.
const double kHalfRoot = std::sqrt(0.5);
constexpr int kPairs[3][2] = {{0, 1}, {1, 2}, {2, 0}};

// Computes the lower Cholesky factors of four 6 × 6 matrices in place. Returns the lanes in which
// every pivot exceeds `least`; the factors of others are meaningless.
decltype(Lane{} < Lane{}) FactorLanes(LaneStrainMatrix* A, const Lane& least) {
  auto definite = least > 0;
  for (int j = 0; j < 6; ++j) {
    Lane pivot = (*A)[7 * j];
    for (int k = 0; k < j; ++k) pivot -= (*A)[6 * k + j] * (*A)[6 * k + j];
    definite = definite & (pivot > least);
    const Lane root = Sqrt(pivot > least ? pivot : Splat(1));
    (*A)[7 * j] = root;
    for (int i = j + 1; i < 6; ++i) {
      Lane sum = (*A)[6 * j + i];
      for (int k = 0; k < j; ++k) sum -= (*A)[6 * k + i] * (*A)[6 * k + j];
      (*A)[6 * j + i] = sum / root;
    }
  }
  return definite;
}

}  // namespace

LaneStrain CalcSymmetricPart(const LaneMatrix3& R, const LaneMatrix3& A) {
  LaneMatrix3 B;  // RᵀA
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r)
      B[3 * c + r] =
          R[3 * r] * A[3 * c] + R[3 * r + 1] * A[3 * c + 1] + R[3 * r + 2] * A[3 * c + 2];
  }
  return {B[0],
          B[4],
          B[8],
          kHalfRoot * (B[1] + B[3]),
          kHalfRoot * (B[5] + B[7]),
          kHalfRoot * (B[2] + B[6])};
}

LaneStrainMatrix CalcStrainStiffness(const LaneMatrix3& R, const std::array<Lane, 81>& tangent) {
  // the six tensors R B_a, column-major
  Lane basis[6][9];
  for (int a = 0; a < 3; ++a) {
    for (int i = 0; i < 9; ++i) basis[a][i] = i / 3 == a ? R[i] : Splat(0);
    const int x = kPairs[a][0], y = kPairs[a][1];
    for (int r = 0; r < 3; ++r) {
      basis[3 + a][3 * y + r] = kHalfRoot * R[3 * x + r];
      basis[3 + a][3 * x + r] = kHalfRoot * R[3 * y + r];
      basis[3 + a][3 * (3 - x - y) + r] = Splat(0);
    }
  }
  LaneStrainMatrix N;
  for (int a = 0; a < 6; ++a) {
    Lane answer[9] = {};
    for (int c = 0; c < 9; ++c) {
      for (int r = 0; r < 9; ++r) answer[r] += tangent[9 * c + r] * basis[a][c];
    }
    for (int b = 0; b < 6; ++b) {
      Lane sum{};
      for (int r = 0; r < 9; ++r) sum += basis[b][r] * answer[r];
      N[6 * a + b] = sum;
    }
  }
  return N;
}

LaneStrainMatrix CalcStrainCompliance(const LaneStrainMatrix& N, unsigned* projected) {
  *projected = 0;
  Lane trace{};
  for (int i = 0; i < 6; ++i) {
    const Lane& x = N[7 * i];
    trace += x > 0 ? x : -x;
  }
  // Pivots are cheaper than eigenvalues, which are computed only where a pivot is small. The
  // smallest pivot is at least the smallest eigenvalue.
  LaneStrainMatrix L = N;
  const auto definite = FactorLanes(&L, kMinStiffness * trace);
  LaneStrainMatrix E{};
  for (int column = 0; column < 6; ++column) {
    Lane x[6] = {};
    x[column] = Splat(1);
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= L[6 * k + i] * x[k];
      x[i] /= L[7 * i];
    }
    for (int i = 5; i >= 0; --i) {
      for (int k = i + 1; k < 6; ++k) x[i] -= L[6 * i + k] * x[k];
      x[i] /= L[7 * i];
    }
    for (int i = 0; i < 6; ++i) E[6 * column + i] = x[i];
  }
  for (int l = 0; l < kLanes; ++l) {
    if (definite[l]) continue;
    Matrix6d A;
    for (int i = 0; i < 36; ++i) A.data()[i] = N[i][l];
    Matrix6d inverse = Matrix6d::Identity();
    if (A.allFinite()) {
      const Eigen::SelfAdjointEigenSolver<Matrix6d> eigen(A);
      Eigen::Matrix<double, 6, 1> values = eigen.eigenvalues();
      const double least = kMinStiffness * values.cwiseAbs().maxCoeff();
      if (values[0] < least) *projected |= 1u << l;
      for (int i = 0; i < 6; ++i) values[i] = least > 0 ? 1 / std::max(values[i], least) : 1;
      inverse = eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
    }
    for (int i = 0; i < 36; ++i) E[i][l] = inverse.data()[i];
  }
  return E;
}

LaneStrainMatrix CalcHookeCompliance(const Lane& mu, const Lane& lambda) {
  LaneStrainMatrix E{};
  const Lane shear = 1 / (2 * mu), across = -lambda * shear / (2 * mu + 3 * lambda);
  for (int i = 0; i < 6; ++i) E[7 * i] = shear;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) E[6 * i + j] += across;
  }
  return E;
}

}  // namespace pliant::physics
