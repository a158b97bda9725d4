#pragma once

#include <array>
#include <cmath>

#include <Eigen/Core>

namespace pliant::physics {

// Four numbers that are computed on together: one of each of four elements. They add, multiply and compare as one number
// does; `mask ? a : b` chooses lane by lane.
inline constexpr int kLanes = 4;
using Lane = double __attribute__((vector_size(8 * kLanes)));
using LaneMatrix3 = std::array<Lane, 9>;  // column-major 3 × 3

// The same number in every lane.
inline Lane Splat(double x) {
  return Lane{} + x;
}

inline Lane Sqrt(Lane x) {
  for (int l = 0; l < kLanes; ++l) x[l] = std::sqrt(x[l]);
  return x;
}

// The matrix in one lane, and its way back.
inline Eigen::Matrix3d Extract(const LaneMatrix3& A, int lane) {
  Eigen::Matrix3d matrix;
  for (int i = 0; i < 9; ++i) matrix.data()[i] = A[i][lane];
  return matrix;
}
inline void Insert(const Eigen::Matrix3d& matrix, int lane, LaneMatrix3* A) {
  for (int i = 0; i < 9; ++i) (*A)[i][lane] = matrix.data()[i];
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
