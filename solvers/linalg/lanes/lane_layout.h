#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// The Cholesky factor of a pattern, node by node and without a zero more than there must be, and
// all that its making consists of: blocks of L and the products each is a sum of. Found once, and
// read for as many matrices at a time as there are lanes.
//
// "Position" is a node's place in the order of elimination, a postorder: what hangs on a node comes
// right before it.
class LaneLayout {
 public:
  // L_ik L_jkᵀ, by blocks of L.
  struct Term {
    int ik, jk;
  };

  // `order[k]` is the node eliminated k-th, but for what a postorder changes (nothing of the fill).
  LaneLayout(const BlockPattern& pattern, std::span<const int> order);

  int num_nodes() const { return static_cast<int>(node_.size()); }
  int num_blocks() const { return static_cast<int>(rows_.size()); }
  int num_sources() const { return num_sources_; }  // blocks of A
  int node(int position) const { return node_[position]; }
  int position(int node) const { return position_[node]; }
  int parent(int position) const { return parent_[position]; }  // −1: none
  // Blocks of L by columns, the diagonal one first, rows ascending.
  const std::vector<int>& column_starts() const { return column_starts_; }
  const std::vector<int>& rows() const { return rows_; }
  // Of each block of L: the block of A that it begins as, −1 for none, and whether that one's
  // transpose.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<char>& is_transposed() const { return is_transposed_; }
  // Of each block of L, k ascending: where its terms begin.
  const std::vector<int>& term_starts() const { return term_starts_; }
  const std::vector<Term>& terms() const { return terms_; }

 private:
  int num_sources_;
  std::vector<int> node_, position_, parent_;
  std::vector<int> column_starts_, rows_, sources_, term_starts_;
  std::vector<char> is_transposed_;
  std::vector<Term> terms_;
};

}  // namespace pliant::solvers
