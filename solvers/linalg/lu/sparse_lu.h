#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/lu/block_sum.h"
#include "solvers/linalg/lu/grouped_pattern.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Factors P A = L U of a nonsymmetric matrix whose pattern is nearly symmetric, by the multifrontal
// method on supernodes. Rows are interchanged within a supernode. Pivots that still vanish are
// replaced by small numbers, and solutions then need refinement. Bits do not depend on threads.
class SparseLu {
 public:
  // `pattern` must outlive this.
  explicit SparseLu(GroupedPattern* pattern) : pattern_(pattern) {}

  // Factors A without its outer products, its rows multiplied by `weights` (an entry for each, or
  // none). Keeps the analysis while entries have the same places. False when a number is not
  // finite.
  bool Factor(const BlockSum& A, std::span<const double> weights);

  // x ← A⁻¹ x.
  void Solve(std::span<double> x) const;

  int num_replaced_pivots() const { return num_replaced_; }  // in the last factorisation

 private:
  // Place of a pair of groups in the panels. Row and column count groups within the supernode.
  struct Place {
    int supernode;
    int row, column;
    bool is_above;  // in the rows of U right of the diagonal block
  };
  // A front: its number of columns, of rows below them, and the sum of both.
  struct Front {
    int width, rows, height;
    double* lower;  // height × width
    double* upper;  // rows × width: transpose of the part right of the diagonal block
    int* swaps;     // row interchanged with that of each column
  };

  void Analyse(const BlockSum& A);
  Place PlaceOf(int row_group, int column_group) const;
  std::size_t OffsetOf(const Place& place, int i, int j) const;
  Front front(std::size_t supernode) const;
  std::span<const SupernodeLayout::Supernode> fronts() const;
  bool FactorFront(const Front& front);
  void AddUpdates(std::size_t supernode, bool to_panels);

  // analysis
  GroupedPattern* pattern_;
  std::int64_t version_ = 0;  // of the pattern that was analysed
  SupernodeLayout layout_;
  std::vector<int> supernode_at_;     // of each position
  std::vector<std::size_t> first_;    // of each supernode's numbers, the root's last, and their end
  std::vector<std::size_t> offsets_;  // of each entry
  std::vector<std::size_t> diagonal_of_padding_;

  // factors
  mutable std::vector<double> panels_;
  mutable std::vector<int> swaps_;
  std::vector<double> updates_, scratch_;
  mutable std::vector<double> x_, rows_;
  int num_replaced_ = 0;
};

}  // namespace pliant::solvers
