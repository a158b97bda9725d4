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
// What becomes of a matrix is the same, bit for bit, in whichever lane it is and whatever is in the
// others.
//
// No node is kept for last here, so that one factor serves for any participants: their Schur
// complement is found from it.
class LaneCholesky {
 public:
  static constexpr int kLanes = LaneKernels::kLanes;

  // `kernels`: those of the widest vectors that this machine has, unless a test wants others.
  explicit LaneCholesky(std::shared_ptr<const LaneLayout> layout,
                        const LaneKernels* kernels = nullptr);

  // Factors at most kLanes matrices of the layout's pattern.
  void Factor(std::span<const BlockMatrix* const> matrices);

  // Of a lane: −1, or a node where the matrix is found not to be positive definite; then nothing
  // below may be asked of it.
  int failed_node(int lane) const;

  // x ← A⁻¹ x of every lane, 3 · num_nodes numbers each; null for a lane that has no question.
  void Solve(std::span<double* const> x) const;

  // Â = (Pᵀ A⁻¹ P)⁻¹ on a lane's `participants` (ascending node numbers), column-major, both
  // triangles: what PartialCholesky::schur_complement() is. A forward substitution for each
  // participant along its path up the elimination tree, and a dense inverse: for few participants
  // that is less than to eliminate them last.
  //
  // False when the matrix is so badly conditioned that ten digits would not be left. May be called
  // for several lanes at once.
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
