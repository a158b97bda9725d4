#pragma once

#include <array>
#include <cmath>
#include <immintrin.h>

#include <Eigen/Core>

#include "physics/spatial/spatial_vector.h"

namespace pliant::physics {

// Number of nodes whose kernels reach a point: three along each axis.
inline constexpr int kKernelNodes = 27;
// The same, padded with zeros to whole SIMD registers.
inline constexpr int kPaddedNodes = 28;

using GridIndex = std::array<int, 3>;

// Lowest of the nodes whose quadratic kernels reach a point.
inline GridIndex FindCell(const Eigen::Vector3d& x, double cell_size) {
  GridIndex cell;
  for (int r = 0; r < 3; ++r) cell[r] = static_cast<int>(std::floor(x[r] / cell_size - 0.5));
  return cell;
}

// Quadratic B-splines of the 27 nodes cell + {0, 1, 2}³ at a point (zong2024 §III). The last
// coordinate varies fastest. Weights sum to 1, and Σ w x_i is the point itself.
struct Kernel {
  alignas(32) double w[kPaddedNodes];            // weights
  alignas(32) double gradient[3][kPaddedNodes];  // ∇w [1/m]
  alignas(32) double arm[3][kPaddedNodes];       // from the point to the node [m]

  Kernel(const Eigen::Vector3d& x, const GridIndex& cell, double cell_size) {
    double value[3][3], slope[3][3], distance[3][3];
    for (int r = 0; r < 3; ++r) {
      const double f = x[r] / cell_size - cell[r];  // from 0.5 to 1.5
      value[r][0] = 0.5 * (1.5 - f) * (1.5 - f);
      value[r][1] = 0.75 - (f - 1) * (f - 1);
      value[r][2] = 0.5 * (f - 0.5) * (f - 0.5);
      slope[r][0] = (f - 1.5) / cell_size;
      slope[r][1] = -2 * (f - 1) / cell_size;
      slope[r][2] = (f - 0.5) / cell_size;
      for (int k = 0; k < 3; ++k) distance[r][k] = cell_size * (k - f);
    }
    int a = 0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 3; ++k, ++a) {
          w[a] = value[0][i] * value[1][j] * value[2][k];
          gradient[0][a] = slope[0][i] * value[1][j] * value[2][k];
          gradient[1][a] = value[0][i] * slope[1][j] * value[2][k];
          gradient[2][a] = value[0][i] * value[1][j] * slope[2][k];
          arm[0][a] = distance[0][i];
          arm[1][a] = distance[1][j];
          arm[2][a] = distance[2][k];
        }
      }
    }
    w[kKernelNodes] = 0;
    for (int r = 0; r < 3; ++r) gradient[r][kKernelNodes] = arm[r][kKernelNodes] = 0;
  }
};

// Vectors on the nodes of a cell, component by component.
struct NodeVectors {
  alignas(32) double of[3][kPaddedNodes] = {};
};

// Numbers of four consecutive nodes; the first one is a multiple of four.
inline Lanes LoadFour(const double* of_nodes) {
  return _mm256_load_pd(of_nodes);
}
// a b + c, rounded once.
inline Lanes MultiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm256_fmadd_pd(a, b, c);
}
inline Lanes MultiplyAdd(double a, Lanes b, Lanes c) {
  return MultiplyAdd(Lanes{a, a, a, a}, b, c);
}

// Σ a_i b_i over the nodes of a cell, in four partial sums.
inline double SumOverNodes(const double* a, const double* b) {
  Lanes sums{};
  for (int i = 0; i < kPaddedNodes; i += 4)
    sums = MultiplyAdd(LoadFour(a + i), LoadFour(b + i), sums);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Σ w v_i.
inline Eigen::Vector3d Interpolate(const Kernel& kernel, const NodeVectors& v) {
  Eigen::Vector3d sum;
  for (int r = 0; r < 3; ++r) sum[r] = SumOverNodes(kernel.w, v.of[r]);
  return sum;
}

// Σ v_i ∇wᵀ.
inline Eigen::Matrix3d InterpolateGradient(const Kernel& kernel, const NodeVectors& v) {
  Eigen::Matrix3d sum;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) sum(r, c) = SumOverNodes(kernel.gradient[c], v.of[r]);
  return sum;
}

// Σ v_i · ∇w, the trace of InterpolateGradient.
inline double InterpolateDivergence(const Kernel& kernel, const NodeVectors& v) {
  double sum = 0;
  for (int r = 0; r < 3; ++r) sum += SumOverNodes(kernel.gradient[r], v.of[r]);
  return sum;
}

// f_i += σ ∇w_i.
inline void AddStress(const Kernel& kernel, const Eigen::Matrix3d& stress, NodeVectors* f) {
  for (int r = 0; r < 3; ++r) {
    for (int a = 0; a < kPaddedNodes; ++a) {
      f->of[r][a] += stress(r, 0) * kernel.gradient[0][a] + stress(r, 1) * kernel.gradient[1][a] +
                     stress(r, 2) * kernel.gradient[2][a];
    }
  }
}

// f_i += p ∇w_i, of a stress p I.
inline void AddPressure(const Kernel& kernel, double p, NodeVectors* f) {
  for (int r = 0; r < 3; ++r)
    for (int a = 0; a < kPaddedNodes; ++a) f->of[r][a] += p * kernel.gradient[r][a];
}

// Affine velocity field of APIC around the point, C = 4/Δx² Σ w v_i armᵀ [1/s].
inline Eigen::Matrix3d InterpolateAffine(const Kernel& kernel, const NodeVectors& v,
                                         double cell_size) {
  alignas(32) double weighted[kPaddedNodes];
  Eigen::Matrix3d sum;
  for (int c = 0; c < 3; ++c) {
    for (int a = 0; a < kPaddedNodes; ++a) weighted[a] = kernel.w[a] * kernel.arm[c][a];
    for (int r = 0; r < 3; ++r) sum(r, c) = SumOverNodes(weighted, v.of[r]);
  }
  return 4 / (cell_size * cell_size) * sum;
}

}  // namespace pliant::physics
