#pragma once

#include <array>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/iterative/conjugate_gradients.h"

namespace pliant::solvers {

// A positive definite A = L + D + Lᵀ with 3 × 3 blocks, and conjugate gradients with its symmetric
// Gauss–Seidel preconditioner
//
//     P = (L + D) D⁻¹ (D + Lᵀ)
//
// They solve (L + D)⁻¹ A (D + Lᵀ)⁻¹ x̂ = (L + D)⁻¹ b for x̂ = (D + Lᵀ) x, with D as preconditioner.
// An iteration then reads each block twice, for P, and not a third time for the product with A
// (Eisenstat 1981): (L + D)⁻¹ A t = t + (L + D)⁻¹ Lᵀ t, and the solve for t = (D + Lᵀ)⁻¹ p̂ yields
// Lᵀ t.
//
// The blocks are rounded to single precision, since the sweeps are limited by the memory that they
// read. So A is exact to 1e-7, which is enough for directions. Vectors stay in double precision.
//
// The columns of a large matrix are divided into ranges, which threads share. P leaves out the
// couplings between them, with which each iteration multiplies. The ranges depend on the pattern
// alone, so the bits are the same for any number of threads. Keeps its memory.
class SweptMatrix {
 public:
  // Copies A, whose pattern must outlive later calls. False if a diagonal block is not positive
  // definite.
  bool Set(const BlockMatrix& A);

  // A x = b from x = 0, of 3 · num_nodes numbers. The residual is r = b − A x. True when
  // √(rᵀP⁻¹r) has fallen to `tolerance` times its value at the start; false when it has not after
  // `max_iterations` products.
  bool Solve(std::span<const double> b, double tolerance, int max_iterations, std::span<double> x);
  // Products in the last solve.
  int iterations() const { return conjugate_gradients_.iterations(); }

 private:
  static constexpr int kMaxRanges = 8;
  struct Range {
    int begin, end, row_end;  // its columns, and the end of the rows that they affect
    std::size_t place;        // in outside_, of its contribution to the rows from `end` on
  };

  void FindRanges();
  template <typename F>
  void ForEachRange(const F& f) const;
  // x ← (L + D)⁻¹ x of a range
  void SweepDown(const Range& range, double* x) const;
  // t ← (D + Lᵀ)⁻¹ t of a range, and `above` ← Lᵀ t
  void SweepUp(const Range& range, double* t, double* above) const;
  // Adds the products of the couplings of a range with later ones: those for its own columns to
  // `own`, the others to outside_.
  void MultiplyOutside(const Range& range, const double* t, double* own);
  void Multiply(std::span<const double> p, std::span<double> q);
  void MultiplyDiagonal(std::span<const double> from, std::span<double> to) const;

  const BlockPattern* pattern_ = nullptr;
  std::vector<float> values_;     // 9 a block
  std::vector<double> inverses_;  // of the diagonal blocks, 9 a node
  std::array<Range, kMaxRanges> ranges_;
  int num_ranges_ = 0;
  std::vector<int> first_outside_;  // of each column: its first block in rows of another range
  ConjugateGradients conjugate_gradients_;
  // a node's three numbers are padded to four; the fourth is zero where it counts
  std::vector<double> outside_, b_, t_, x_;
};

}  // namespace pliant::solvers
