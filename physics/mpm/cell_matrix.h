#pragma once

#include <array>
#include <span>

#include <Eigen/Core>

#include "physics/mpm/kernel.h"

namespace pliant::physics {

// Number of blocks (a, b), a ≥ b, of the nodes of a cell, stored by columns.
inline constexpr int kCellBlocks = kKernelNodes * (kKernelNodes + 1) / 2;

// Contribution of the particles of a cell to the tangent of its 27 nodes.
class CellMatrix {
 public:
  void Clear() { values_.fill(0); }

  // Adds Σ_jl ∇w_a[j] scale D[(r j), (s l)] ∇w_b[l] + mass w_a w_b δ_rs.
  void Add(const Kernel& kernel, double scale, const Eigen::Matrix<double, 9, 9>& tangent,
           double mass) {
    for (int b = 0; b < kKernelNodes; ++b) {
      const double g[3] = {scale * kernel.gradient[0][b], scale * kernel.gradient[1][b],
                           scale * kernel.gradient[2][b]};
      const int first = b & ~3;  // aligned to SIMD registers
      double* column = &values_[static_cast<std::size_t>(b) * kColumn];
      for (int s = 0; s < 3; ++s) {
        for (int r = 0; r < 3; ++r, column += kPaddedNodes) {
          double t[3];
          for (int j = 0; j < 3; ++j) {
            t[j] = tangent(r + 3 * j, s) * g[0] + tangent(r + 3 * j, s + 3) * g[1] +
                   tangent(r + 3 * j, s + 6) * g[2];
          }
          const double inertia = r == s ? mass * kernel.w[b] : 0;
          for (int a = first; a < kPaddedNodes; ++a) {
            column[a] += t[0] * kernel.gradient[0][a] + t[1] * kernel.gradient[1][a] +
                         t[2] * kernel.gradient[2][a] + inertia * kernel.w[a];
          }
        }
      }
    }
  }

  // Adds Σ ∇w_a[r] scale ∇w_b[s], of a tangent scale I ⊗ I.
  void AddVolumetric(const Kernel& kernel, double scale) {
    for (int b = 0; b < kKernelNodes; ++b) {
      double* column = &values_[static_cast<std::size_t>(b) * kColumn];
      for (int s = 0; s < 3; ++s) {
        const double g = scale * kernel.gradient[s][b];
        for (int r = 0; r < 3; ++r, column += kPaddedNodes)
          for (int a = b & ~3; a < kPaddedNodes; ++a) column[a] += g * kernel.gradient[r][a];
      }
    }
  }

  // Adds the blocks to a matrix of column-major 3 × 3 blocks. `places`: index there of each block
  // (a, b).
  void Scatter(std::span<const int> places, std::span<double> matrix) const {
    const int* place = places.data();
    for (int b = 0; b < kKernelNodes; ++b) {
      const double* column = &values_[static_cast<std::size_t>(b) * kColumn];
      for (int a = b; a < kKernelNodes; ++a) {
        double* block = &matrix[9 * static_cast<std::size_t>(*place++)];
        for (int e = 0; e < 9; ++e) block[e] += column[e * kPaddedNodes + a];
      }
    }
  }

 private:
  static constexpr int kColumn = 9 * kPaddedNodes;
  // column of node b: entry (r, s) of blocks (a, b) for all a, at (r + 3 s) kPaddedNodes + a
  alignas(32) std::array<double, kKernelNodes * kColumn> values_;
};

}  // namespace pliant::physics
