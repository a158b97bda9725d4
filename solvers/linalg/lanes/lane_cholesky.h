#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/lanes/lane_kernels.h"
#include "solvers/linalg/lanes/lane_layout.h"
#include "solvers/linalg/memory.h"

namespace pliant::solvers {

// Cholesky factors of up to eight matrices of one pattern at a time, one in each lane of a vector.
// The result for a matrix is bitwise independent of its lane and of the other matrices.
//
// No node is eliminated last here, so one factor serves any participants: their Schur complement is
// computed from it.
class LaneCholesky {
 public:
  static constexpr int kLanes = LaneKernels::kLanes;

  // `kernels`: null selects the widest vectors of this machine; tests may choose others.
  explicit LaneCholesky(std::shared_ptr<const LaneLayout> layout,
                        const LaneKernels* kernels = nullptr);

  // Factors at most kLanes matrices of the layout's pattern.
  void Factor(std::span<const BlockMatrix* const> matrices);

  // Node where a lane's matrix is found not to be positive definite, or −1. The functions below
  // must not be called for a lane that failed.
  int failed_node(int lane) const;

  // x ← A⁻¹ x for every lane, 3 · num_nodes numbers each; null skips a lane.
  void Solve(std::span<double* const> x) const;

  // Â = (Pᵀ A⁻¹ P)⁻¹ on a lane's `participants` (ascending node numbers), column-major, both
  // triangles, as PartialCholesky::schur_complement(). Uses a forward substitution for each
  // participant along its path up the elimination tree, and a dense inverse: cheaper than
  // eliminating the participants last when there are few.
  //
  // False when the matrix is too ill-conditioned to keep ten digits. May be called for several
  // lanes in parallel.
  bool CalcSchurComplement(int lane, std::span<const int> participants,
                           std::vector<double>* schur) const;

  const LaneLayout& layout() const { return *layout_; }

 private:
  LaneKernels::Layout arrays() const;
  double* AlignedL() { return Align(L_.data()); }
  const double* AlignedL() const { return Align(const_cast<double*>(L_.data())); }
  static double* Align(double* p);

  std::shared_ptr<const LaneLayout> layout_;
  const LaneKernels& kernels_;
  LargeVector L_;
  int count_ = 0;
  std::array<int, kLanes> failed_;
};

}  // namespace pliant::solvers
