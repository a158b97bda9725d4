#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Neighbours of every node, ascending, without the node itself.
std::vector<std::vector<int>> MakeAdjacency(const BlockPattern& pattern);

// A fill-reducing elimination order of the nodes by nested dissection (METIS), for small meshes the
// best of several. order[k] is the node eliminated k-th.
std::vector<int> FindEliminationOrder(const BlockPattern& pattern);

// `order`, or a minimum-degree order when that needs fewer operations. Use it only when no nodes
// are eliminated last: minimum degree sweeps along slender bodies, and keeping nodes for last
// (contacts all along a ring) would carry them through the whole sweep, at 3.5 times the operations
// on a ring of 10,000 nodes.
std::vector<int> ReduceOperations(const BlockPattern& pattern, const std::vector<int>& order);

// Elimination tree and the size of the factor's columns, by node.
struct EliminationTree {
  // the first node later in the order that the node's elimination couples with it; −1: none
  std::vector<int> parents;
  std::vector<int> num_rows;  // below the diagonal
};
EliminationTree FindEliminationTree(const BlockPattern& pattern, const std::vector<int>& order);

// Counts the additions and multiplications that factorisations of one pattern take in different
// orders. Needs no more memory than the pattern has, and keeps it.
class OperationCounter {
 public:
  // The pattern must outlive calls of Count.
  void SetPattern(const BlockPattern* pattern);
  // Neighbours with lower numbers; the pattern has those with higher numbers.
  std::span<const int> lower_neighbours(int node) const {
    return std::span(lower_).subspan(starts_[node], starts_[node + 1] - starts_[node]);
  }
  // Counts up to `limit` only, and returns some number above it if there are more.
  double Count(std::span<const int> order, double limit);

 private:
  const BlockPattern* pattern_ = nullptr;
  std::vector<int> starts_, lower_;
  std::vector<int> parents_, visited_for_, num_rows_;
};

// True if a factorisation in this order takes more than `limit` additions and multiplications.
bool TakesMoreOperations(const BlockPattern& pattern, std::span<const int> order, double limit);

// Adds all ancestors to `nodes`; both ascending. The result can be eliminated last without changing
// the order of the other nodes, and so without additional fill. `marks` is work space.
void AddAncestors(const std::vector<int>& parents, std::vector<char>* marks,
                  std::vector<int>* nodes);

}  // namespace pliant::solvers
