#pragma once

#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Neighbours of every node, ascending, without itself.
std::vector<std::vector<int>> MakeAdjacency(const BlockPattern& pattern);

// A fill-reducing elimination order of the nodes. order[k] is the node eliminated k-th. The best of
// several by nested dissection (METIS), where the mesh is small.
std::vector<int> FindEliminationOrder(const BlockPattern& pattern);

// `order`, or one by minimum degree where that needs fewer operations. Only for who keeps no node
// for last: minimum degree sweeps along slender bodies, and nodes that are then kept for last
// (contacts all along a ring) would be dragged through the whole sweep, 3.5 times the operations on
// a ring of 10,000 nodes.
std::vector<int> ReduceOperations(const BlockPattern& pattern, const std::vector<int>& order);

// Of each node the first one after it, in an order, that its elimination couples with the next: its
// parent; −1: none.
std::vector<int> FindEliminationTree(const BlockPattern& pattern, const std::vector<int>& order);

// `nodes`, ascending, and all their ancestors: what can be left to the end without changing the
// order of anything else, and so without more fill. Ascending. `marks` is memory to work in.
void AddAncestors(const std::vector<int>& parents, std::vector<char>* marks,
                  std::vector<int>* nodes);

}  // namespace pliant::solvers
