#include "physics/stepping/step/islands.h"

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

using solvers::ConstraintSystem;

std::vector<int> ToVector(std::span<const int> list) {
  return {list.begin(), list.end()};
}

// Makes blocks of two velocities. Each contact or row is given by the blocks that it acts on.
ConstraintSystem MakeSystem(int num_blocks, const std::vector<std::vector<int>>& contacts,
                            const std::vector<std::vector<int>>& rows) {
  ConstraintSystem system;
  for (int b = 0; b < num_blocks; ++b) system.blocks.push_back({2 * b, 2, {}});
  system.num_velocities = 2 * num_blocks;
  const auto add_entries = [&](const std::vector<int>& on, auto& of) {
    of.first_entry = static_cast<int>(system.entries.size());
    of.num_entries = static_cast<int>(on.size());
    for (const int block : on) system.entries.push_back({block, 1, 1, 0});
  };
  for (const auto& on : contacts) add_entries(on, system.contacts.emplace_back());
  for (const auto& on : rows) add_entries(on, system.rows.emplace_back());
  return system;
}

TEST(Islands, AreWhatContactsAndRowsJoin) {
  // a contact joins 0 and 3, a row joins 3 and 4; 1 touches the ground; 2 has a stop
  const ConstraintSystem system = MakeSystem(5, {{1}, {3, 0}, {1}}, {{3, 4}, {2}});
  Islands islands;
  FindIslands(system, &islands);
  ASSERT_EQ(islands.views.size(), 3u);
  EXPECT_EQ(ToVector(islands.views[0].blocks), (std::vector<int>{0, 3, 4}));
  EXPECT_EQ(ToVector(islands.views[0].contacts), (std::vector<int>{1}));
  EXPECT_EQ(ToVector(islands.views[0].rows), (std::vector<int>{0}));
  EXPECT_EQ(ToVector(islands.views[1].blocks), (std::vector<int>{1}));
  EXPECT_EQ(ToVector(islands.views[1].contacts), (std::vector<int>{0, 2}));
  EXPECT_EQ(ToVector(islands.views[2].blocks), (std::vector<int>{2}));
  EXPECT_EQ(ToVector(islands.views[2].rows), (std::vector<int>{1}));
  EXPECT_EQ(islands.island_of_block, (std::vector<int>{0, 1, 2, 0, 0}));
}

TEST(Islands, NumberTheirVelocitiesBlockByBlock) {
  const ConstraintSystem system = MakeSystem(4, {{2, 0}, {3}}, {{1}});
  Islands islands;
  FindIslands(system, &islands);
  ASSERT_EQ(islands.views.size(), 3u);
  const solvers::IslandView& view = islands.views[0];
  EXPECT_EQ(view.num_velocities, 4);
  // block 2 follows block 0 in this island, and the entry acts on its second velocity
  EXPECT_EQ(view.first_of(system.entries[0]), 3);
  EXPECT_EQ(view.block_of(system.entries[0]), 1);
  EXPECT_EQ(view.first_of(system.entries[1]), 1);
}

}  // namespace
}  // namespace pliant::physics
