#pragma once

#include <vector>

#include "solvers/problem/island_view.h"

namespace pliant::physics {

// Which blocks of a step's system meet through contacts or rows, directly or not.
struct Islands {
  std::vector<solvers::IslandView> views;  // in the order of their first blocks
  std::vector<int> island_of_block;        // of each block of the system

  // What the views show: blocks, contacts and rows sorted by island, and numbers within an island.
  std::vector<int> items, starts, local_block, local_first;
  std::vector<int> roots;  // scratch
};

// The views hold until the system changes.
void FindIslands(const solvers::ConstraintSystem& system, Islands* islands);

}  // namespace pliant::physics
