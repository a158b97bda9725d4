#pragma once

#include <array>
#include <span>
#include <utility>

#include <Eigen/Core>

#include "physics/mpm/kernel.h"

namespace pliant::physics {

// Number of blocks (a, b), a ≥ b, of the nodes of a cell, stored by columns.
inline constexpr int kCellBlocks = kKernelNodes * (kKernelNodes + 1) / 2;

// Contribution of the particles of a cell to the tangent of its 27 nodes.
class CellMatrix {
 public:
  void Clear() { is_zero_ = true; }

  // Adds Σ_jl ∇w_a[j] scale D[(r j), (s l)] ∇w_b[l] + mass w_a w_b δ_rs.
  void Add(const Kernel& kernel, double scale, const Eigen::Matrix<double, 9, 9>& tangent,
           double mass) {
    AddColumns([&](int b, int r, int s) {
      const double g[3] = {scale * kernel.gradient[0][b], scale * kernel.gradient[1][b],
                           scale * kernel.gradient[2][b]};
      double t[3];
      for (int j = 0; j < 3; ++j) {
        t[j] = tangent(r + 3 * j, s) * g[0] + tangent(r + 3 * j, s + 3) * g[1] +
               tangent(r + 3 * j, s + 6) * g[2];
      }
      const bool is_diagonal = r == s;
      const double inertia = mass * kernel.w[b];
      return [=, &kernel](int a, Lanes sum) {
        for (int j = 0; j < 3; ++j) sum = MultiplyAdd(t[j], LoadFour(&kernel.gradient[j][a]), sum);
        return is_diagonal ? MultiplyAdd(inertia, LoadFour(&kernel.w[a]), sum) : sum;
      };
    });
  }

  // A particle whose tangent is scale I ⊗ I.
  struct Dilation {
    double scale;
    alignas(32) double gradient[3][kPaddedNodes];  // ∇w
  };
  static constexpr int kMaxDilations = 8;
  // Adds Σ ∇w_a[r] scale ∇w_b[s] of such particles. Fewer have a scale of zero; the number is fixed
  // so that their factors stay in registers.
  void AddDilations(const std::array<Dilation, kMaxDilations>& particles) {
    AddColumns([&](int b, int r, int s) {
      std::array<Lanes, kMaxDilations> factors;
      for (int p = 0; p < kMaxDilations; ++p) {
        const double factor = particles[p].scale * particles[p].gradient[s][b];
        factors[p] = Lanes{factor, factor, factor, factor};
      }
      return [&particles, factors, r](int a, Lanes sum) {
        for (int p = 0; p < kMaxDilations; ++p)
          sum = MultiplyAdd(factors[p], LoadFour(&particles[p].gradient[r][a]), sum);
        return sum;
      };
    });
  }

  // Adds the blocks to a matrix of column-major 3 × 3 blocks. `places`: index there of each block
  // (a, b).
  void Scatter(std::span<const int> places, std::span<double> matrix) const {
    if (is_zero_) return;
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

  // Adds a contribution to every block. For the entry (r, s) of the blocks of node b, f(b, r, s)
  // returns a function `add`. For four blocks from (a, b) on, add(a, x) returns the sum of x and
  // the contribution.
  template <typename F>
  void AddColumns(const F& f) {
    const bool was_zero = std::exchange(is_zero_, false);
    for (int b = 0; b < kKernelNodes; ++b) {
      double* column = &values_[static_cast<std::size_t>(b) * kColumn];
      for (int s = 0; s < 3; ++s) {
        for (int r = 0; r < 3; ++r, column += kPaddedNodes) {
          const auto add = f(b, r, s);
          for (int a = b & ~3; a < kPaddedNodes; a += 4)
            _mm256_store_pd(column + a, add(a, was_zero ? Lanes{} : LoadFour(column + a)));
        }
      }
    }
  }

  bool is_zero_ = true;
  // Column of node b: entry (r, s) of blocks (a, b) at (r + 3 s) kPaddedNodes + a, for a from the
  // four nodes on that contain b; those before are not used.
  alignas(32) std::array<double, kKernelNodes * kColumn> values_;
};

}  // namespace pliant::physics
