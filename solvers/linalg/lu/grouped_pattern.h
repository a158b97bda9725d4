#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/lu/block_sum.h"

namespace pliant::solvers {

// Pattern of a BlockSum and its transpose in blocks of three: unknowns of a group lie in as many
// nodes of three as they need, and the rest of the last one is padding. Several factors of a matrix
// may share one. Keeps its memory.
class GroupedPattern {
 public:
  // Finds nodes, pattern and order of elimination. The order depends on the lasting entries alone,
  // so contacts that come and go need no new one. Changes nothing if entries have the places of the
  // last call.
  void Set(const BlockSum& A);
  // Increases with each change.
  std::int64_t version() const { return version_; }

  const BlockPattern& pattern() const { return pattern_; }
  std::span<const int> order() const { return order_; }  // order()[k] is eliminated k-th
  int num_unknowns() const { return size_; }
  // Three times the node of an unknown, and its place there.
  int slot(int unknown) const { return slot_[unknown]; }
  std::span<const int> padding() const { return padding_; }  // slots without an unknown
  // Row and column of each entry.
  std::span<const std::pair<int, int>> places() const { return places_; }

 private:
  BlockPattern MakePattern(std::span<const BlockSum::Entry> entries) const;
  void FindOrder(const BlockSum& A);

  std::int64_t version_ = 0;
  std::vector<std::pair<int, int>> places_;
  std::vector<std::pair<int, int>> ordered_places_;  // of the entries that set the order
  std::vector<int> starts_, ordered_starts_;         // of groups
  std::size_t num_lasting_ = 0;
  int size_ = 0, num_last_ = 0;
  std::vector<int> slot_, padding_;
  BlockPattern pattern_;
  std::vector<int> order_;
};

}  // namespace pliant::solvers
