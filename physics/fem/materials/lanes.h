#pragma once

#include <array>
#include <immintrin.h>

#include <Eigen/Core>

namespace pliant::physics {

// A SIMD vector with one number from each of four elements. Arithmetic, comparisons and `mask ? a :
// b` act lane by lane.
inline constexpr int kLanes = 4;
using Lane = double __attribute__((vector_size(8 * kLanes)));
using LaneMatrix3 = std::array<Lane, 9>;  // column-major 3 × 3

// Broadcasts x to every lane.
inline Lane Splat(double x) {
  return Lane{} + x;
}

inline Lane Sqrt(Lane x) {
  return _mm256_sqrt_pd(x);
}

// True if a comparison holds in every lane, or in any lane.
inline bool All(decltype(Lane{} < Lane{}) holds) {
  return (holds[0] & holds[1] & holds[2] & holds[3]) != 0;
}
inline bool Any(decltype(Lane{} < Lane{}) holds) {
  return (holds[0] | holds[1] | holds[2] | holds[3]) != 0;
}

// Transposes the 4 × 4 matrix whose rows are a, b, c and d.
inline void Transpose(Lane* a, Lane* b, Lane* c, Lane* d) {
  const Lane ab_low = _mm256_unpacklo_pd(*a, *b), ab_high = _mm256_unpackhi_pd(*a, *b);
  const Lane cd_low = _mm256_unpacklo_pd(*c, *d), cd_high = _mm256_unpackhi_pd(*c, *d);
  *a = _mm256_permute2f128_pd(ab_low, cd_low, 0x20);
  *b = _mm256_permute2f128_pd(ab_high, cd_high, 0x20);
  *c = _mm256_permute2f128_pd(ab_low, cd_low, 0x31);
  *d = _mm256_permute2f128_pd(ab_high, cd_high, 0x31);
}

// Read and write the matrix in one lane.
inline Eigen::Matrix3d Extract(const LaneMatrix3& A, int lane) {
  Eigen::Matrix3d matrix;
  for (int i = 0; i < 9; ++i) matrix.data()[i] = A[i][lane];
  return matrix;
}
inline Eigen::Matrix<double, 9, 9> Extract(const std::array<Lane, 81>& A, int lane) {
  Eigen::Matrix<double, 9, 9> matrix;
  for (int i = 0; i < 81; ++i) matrix.data()[i] = A[i][lane];
  return matrix;
}
inline void Insert(const Eigen::Matrix3d& matrix, int lane, LaneMatrix3* A) {
  for (int i = 0; i < 9; ++i) (*A)[i][lane] = matrix.data()[i];
}

// A⁻ᵀ det A = ∂(det A)/∂A.
inline LaneMatrix3 CalcCofactors(const LaneMatrix3& A) {
  return {A[4] * A[8] - A[7] * A[5], A[6] * A[5] - A[3] * A[8], A[3] * A[7] - A[6] * A[4],
          A[7] * A[2] - A[1] * A[8], A[0] * A[8] - A[6] * A[2], A[6] * A[1] - A[0] * A[7],
          A[1] * A[5] - A[4] * A[2], A[3] * A[2] - A[0] * A[5], A[0] * A[4] - A[3] * A[1]};
}

// A B, and A Bᵀ.
inline LaneMatrix3 Product(const LaneMatrix3& A, const LaneMatrix3& B) {
  LaneMatrix3 C;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r)
      C[3 * c + r] = A[r] * B[3 * c] + A[3 + r] * B[3 * c + 1] + A[6 + r] * B[3 * c + 2];
  }
  return C;
}
inline LaneMatrix3 ProductTransposed(const LaneMatrix3& A, const LaneMatrix3& B) {
  LaneMatrix3 C;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r)
      C[3 * c + r] = A[r] * B[c] + A[3 + r] * B[3 + c] + A[6 + r] * B[6 + c];
  }
  return C;
}

}  // namespace pliant::physics
