#include "physics/stepping/step/rows.h"

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

TEST(GroupTable, GivesEveryGroupOneEntryHoweverManyThereAre) {
  GroupTable table;
  for (int round = 0; round < 3; ++round) {
    table.Clear();
    // add many groups of two blocks, find them again, and add more
    for (int k = 0; k < 500; ++k) {
      EXPECT_EQ(table.FindOrAdd(1, 7 * k, 2 * k), 2 * k);
      EXPECT_EQ(table.FindOrAdd(2, 7 * k, 2 * k + 1), 2 * k + 1);
    }
    for (int k = 0; k < 500; ++k) {
      EXPECT_EQ(table.FindOrAdd(1, 7 * k, 5000), 2 * k);
      EXPECT_EQ(table.FindOrAdd(2, 7 * k, 5000), 2 * k + 1);
      EXPECT_EQ(table.FindOrAdd(1, 7 * k + 1, 5000 + k), 5000 + k);
    }
  }
}

TEST(GroupTable, ForgetsAllWhenItIsCleared) {
  GroupTable table;
  table.Clear();
  EXPECT_EQ(table.FindOrAdd(0, 3, 10), 10);
  table.Clear();
  EXPECT_EQ(table.FindOrAdd(0, 3, 20), 20);
}

}  // namespace
}  // namespace pliant::physics
