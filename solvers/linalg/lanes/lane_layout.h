#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Symbolic Cholesky factorisation of a pattern, node by node, without padding: the blocks of L and
// the products that each is a sum of. Computed once, then read for as many matrices at a time as
// there are lanes.
//
// "Position" is a node's place in the elimination order, which is a postorder: a node's subtree
// comes right before it.
class LaneLayout {
 public:
  // L_ik L_jkᵀ, as indices of blocks of L.
  struct Term {
    int ik, jk;
  };

  // `order[k]` is the node eliminated k-th, up to postordering, which does not change the fill.
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
  // For each block of L: the block of A that it starts from, −1 for none, and whether that block is
  // transposed.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<char>& is_transposed() const { return is_transposed_; }
  // For each block of L: its first term; terms are sorted by k.
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
