#pragma once

#include <array>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// A positive definite A = L + D + Lᵀ with 3 × 3 blocks for conjugate gradients, and its symmetric
// Gauss–Seidel preconditioner
//
//     P = (L + D) D⁻¹ (D + Lᵀ)
//
// The blocks are rounded to single precision, since the products are limited by the memory that
// they read. So A is exact to 1e-7, which is enough for directions. Vectors stay in double
// precision.
//
// The columns of a large matrix are divided into ranges, which threads share. P leaves out the
// couplings between them. The ranges depend on the pattern alone, so the bits are the same for any
// number of threads. Keeps its memory.
class SweptMatrix {
 public:
  // Copies A, whose pattern must outlive later calls. False if a diagonal block is not positive
  // definite.
  bool Set(const BlockMatrix& A);

  // to ← A from; both of 3 · num_nodes numbers.
  void Multiply(std::span<const double> from, std::span<double> to);
  // to ← P⁻¹ from
  void Precondition(std::span<const double> from, std::span<double> to);

 private:
  static constexpr int kRanges = 8;
  struct Range {
    int begin, end, row_end;  // its columns, and the end of the rows that they affect
    std::size_t place;        // of its contribution to a product, in y_
  };

  void FindRanges();
  template <typename F>
  void ForEachRange(const F& f) const;
  void MultiplyRange(const Range& range);
  void Sweep(const Range& range);

  const BlockPattern* pattern_ = nullptr;
  std::vector<float> values_;     // 9 a block
  std::vector<double> inverses_;  // of the diagonal blocks, 9 a node
  std::array<Range, kRanges> ranges_;
  int num_ranges_ = 0;
  std::vector<double> x_, y_;  // a node's three numbers are padded to four
};

}  // namespace pliant::solvers
