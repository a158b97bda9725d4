#pragma once

#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Neighbours of every node, ascending, without itself.
std::vector<std::vector<int>> MakeAdjacency(const BlockPattern& pattern);

// A fill-reducing elimination order of the nodes: the better of minimum degree (AMD) and nested dissection (METIS) by
// their operation counts. order[k] is the node eliminated k-th.
std::vector<int> FindEliminationOrder(const BlockPattern& pattern);

}  // namespace pliant::solvers
