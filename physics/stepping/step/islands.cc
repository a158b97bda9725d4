#include "physics/stepping/step/islands.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace pliant::physics {

using solvers::ConstraintSystem;

namespace {

int FindRoot(std::vector<int>& roots, int block) {
  while (roots[block] != block) block = roots[block] = roots[roots[block]];
  return block;
}

void JoinBlocks(const ConstraintSystem& system, std::vector<int>* roots) {
  const auto join = [&](std::span<const ConstraintSystem::Entry> entries) {
    for (const ConstraintSystem::Entry& entry : entries.subspan(1)) {
      const int a = FindRoot(*roots, entries[0].block), b = FindRoot(*roots, entry.block);
      (*roots)[std::max(a, b)] = std::min(a, b);
    }
  };
  for (const ConstraintSystem::Contact& contact : system.contacts) join(system.entries_of(contact));
  for (const ConstraintSystem::Row& row : system.rows) join(system.entries_of(row));
}

}  // namespace

void FindIslands(const ConstraintSystem& system, Islands* islands) {
  const std::size_t num_blocks = system.blocks.size();
  std::vector<int>& roots = islands->roots;
  roots.resize(num_blocks);
  std::iota(roots.begin(), roots.end(), 0);
  JoinBlocks(system, &roots);

  // number islands by their first blocks; sort blocks, contacts and rows by island (counting sort)
  std::vector<int>& island_of = islands->island_of_block;
  island_of.assign(num_blocks, -1);
  int count = 0;
  for (int b = 0; b < static_cast<int>(num_blocks); ++b) {
    const int root = FindRoot(roots, b);
    if (root == b) island_of[b] = count++;
    island_of[b] = island_of[root];
  }
  const std::size_t sizes[] = {num_blocks, system.contacts.size(), system.rows.size()};
  const auto island = [&](int kind, int item) {
    if (kind == 0) return island_of[item];
    const int entry = kind == 1 ? system.contacts[item].first_entry : system.rows[item].first_entry;
    return island_of[system.entries[entry].block];
  };
  std::vector<int>&items = islands->items, &starts = islands->starts;
  items.resize(sizes[0] + sizes[1] + sizes[2]);
  starts.assign(3 * std::size_t(count) + 1, 0);
  for (int kind = 0; kind < 3; ++kind) {
    for (std::size_t i = 0; i < sizes[kind]; ++i)
      ++starts[3 * island(kind, static_cast<int>(i)) + kind + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  for (int kind = 0; kind < 3; ++kind) {
    for (std::size_t i = 0; i < sizes[kind]; ++i)
      items[starts[3 * island(kind, static_cast<int>(i)) + kind]++] = static_cast<int>(i);
  }

  islands->local_block.resize(num_blocks);
  islands->local_first.resize(num_blocks);
  islands->views.clear();
  for (int k = 0; k < count; ++k) {
    // filling moved every start to its end, which is the next one's start
    const auto items_of = [&](int kind) {
      const int slot = 3 * k + kind;
      const int begin = slot == 0 ? 0 : starts[slot - 1];
      return std::span<const int>(items.data() + begin, starts[slot] - begin);
    };
    solvers::IslandView& view = islands->views.emplace_back();
    view.system = &system;
    view.blocks = items_of(0);
    view.contacts = items_of(1);
    view.rows = items_of(2);
    view.local_block = islands->local_block;
    view.local_first = islands->local_first;
    int index = 0;
    for (const int b : view.blocks) {
      islands->local_block[b] = index++;
      islands->local_first[b] = view.num_velocities;
      view.num_velocities += system.blocks[b].size;
    }
  }
}

}  // namespace pliant::physics
