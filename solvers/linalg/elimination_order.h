#pragma once

#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Neighbours of every node, ascending, without itself.
std::vector<std::vector<int>> MakeAdjacency(const BlockPattern& pattern);

// A fill-reducing elimination order of the nodes by nested dissection (METIS). order[k] is the node eliminated k-th.
// Minimum degree needs as few operations, but sweeps along slender bodies: nodes that are then kept for last (contacts all
// along a ring) would be dragged through the whole sweep, 3.5 times the operations on a ring of 10,000 nodes.
std::vector<int> FindEliminationOrder(const BlockPattern& pattern);

}  // namespace pliant::solvers
