#pragma once

#include <vector>

#include "solvers/problem/island_view.h"

namespace pliant::physics {

// The connected components of a step's blocks, linked by contacts and rows.
struct Islands {
  std::vector<solvers::IslandView> views;  // in the order of their first blocks
  std::vector<int> island_of_block;        // of each block of the system

  // Storage of the views: blocks, contacts and rows sorted by island, and indices within an island.
  std::vector<int> items, starts, local_block, local_first;
  std::vector<int> roots;  // scratch
};

// The views are valid until the system changes.
void FindIslands(const solvers::ConstraintSystem& system, Islands* islands);

}  // namespace pliant::physics
