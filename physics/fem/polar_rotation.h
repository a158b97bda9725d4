#pragma once

#include <array>

#include <Eigen/Core>

namespace pliant::physics {

// Four numbers that are computed on together: one of each of four elements.
inline constexpr int kLanes = 4;
using Lane = double __attribute__((vector_size(8 * kLanes)));
using LaneMatrix = std::array<Lane, 9>;  // column-major 3 × 3

// The matrix in one lane.
inline Eigen::Matrix3d Extract(const LaneMatrix& A, int lane) {
  Eigen::Matrix3d matrix;
  for (int i = 0; i < 9; ++i) matrix.data()[i] = A[i][lane];
  return matrix;
}

// Rotation R of the polar decomposition F = R S with det R = +1; for an inverted F (det F < 0) the rotation nearest
// to it, so that the element is pushed back the shortest way.
Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F);

// The same for four matrices, to within 1e-14 of orthogonality.
LaneMatrix CalcPolarRotations(const LaneMatrix& F);

}  // namespace pliant::physics
