#pragma once

#include <numeric>
#include <vector>

#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// A whole system as one island. Owns the lists that the view refers to.
class WholeIsland {
 public:
  // `system` must outlive this, and its numbers of blocks, contacts and rows must not change.
  explicit WholeIsland(const ConstraintSystem& system)
      : blocks_(system.blocks.size()),
        contacts_(system.contacts.size()),
        rows_(system.rows.size()) {
    std::iota(blocks_.begin(), blocks_.end(), 0);
    std::iota(contacts_.begin(), contacts_.end(), 0);
    std::iota(rows_.begin(), rows_.end(), 0);
    for (const ConstraintSystem::Block& block : system.blocks) firsts_.push_back(block.first);
    view_ = {&system, blocks_, contacts_, rows_, blocks_, firsts_, system.num_velocities};
  }
  WholeIsland(const WholeIsland&) = delete;
  WholeIsland& operator=(const WholeIsland&) = delete;

  const IslandView& view() const { return view_; }

 private:
  std::vector<int> blocks_, contacts_, rows_, firsts_;
  IslandView view_;
};

}  // namespace pliant::solvers
