#include "solvers/linalg/supernodes.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/sparse_complement.h"
#include "tests/solvers/linalg/grid.h"

namespace pliant::solvers {
namespace {

class SupernodesTest : public testing::TestWithParam<std::vector<int>> {
 protected:
  SupernodesTest() : layout_(cube_, FindEliminationOrder(cube_)) {
    layout_.LayOut(GetParam());
    layout_.Place({}, true);
  }

  const BlockPattern cube_ = MakeGrid(7, 7, 7, false);
  SupernodeLayout layout_;
};

TEST_P(SupernodesTest, EveryColumnIsInOne) {
  std::vector<int> positions(cube_.num_nodes), nodes;
  int columns = 0;
  for (const auto& node : layout_.supernodes()) {
    EXPECT_EQ(node.first, columns);
    columns += node.columns;
  }
  EXPECT_EQ(layout_.root().first, columns);
  EXPECT_EQ(columns + layout_.root().columns, cube_.num_nodes);
  for (int at = 0; at < cube_.num_nodes; ++at) {
    nodes.push_back(layout_.node(at));
    EXPECT_EQ(layout_.position(layout_.node(at)), at);
  }
  std::ranges::sort(nodes);
  std::iota(positions.begin(), positions.end(), 0);
  EXPECT_EQ(nodes, positions);
}

TEST_P(SupernodesTest, RowsStandWhereTheParentHasThem) {
  const auto check = [&](const SupernodeLayout::Supernode& parent) {
    for (const int c : layout_.children(parent)) {
      const auto& child = layout_.supernodes()[c];
      for (int r = 0; r < child.num_rows; ++r) {
        const int place = layout_.relative(child)[r];
        EXPECT_EQ(place < parent.columns, r < child.in_panel);
        const int position = place < parent.columns ? parent.first + place
                                                    : layout_.rows(parent)[place - parent.columns];
        EXPECT_EQ(layout_.rows(child)[r], position);
      }
    }
  };
  for (const auto& node : layout_.supernodes()) check(node);
  check(layout_.root());
}

// Without reordering, a stretch would have fewer than three rows.
TEST_P(SupernodesTest, RowsMakeFewStretchesInTheParent) {
  double stretches = 0, rows = 0;
  for (const auto& node : layout_.supernodes()) {
    const std::span<const int> run_end = layout_.run_end(node);
    for (int column = 0; column < node.num_rows; ++column) {
      rows += node.num_rows - column;
      for (int r = column; r < node.num_rows; r = run_end[r]) ++stretches;
    }
  }
  EXPECT_GT(rows / stretches, 5);
}

TEST(Supernodes, OperationsAreCountedWithoutALayout) {
  for (const BlockPattern& pattern : {MakeGrid(7, 6, 5, false), MakeGrid(40, 3, 2, true)}) {
    const std::vector<int> order = FindEliminationOrder(pattern);
    SupernodeLayout layout(pattern, order);
    layout.LayOut({});
    layout.Place({}, true);
    EXPECT_EQ(CountFactorOperations(order, FindEliminationTree(pattern, order)), layout.flops());
  }
  const BlockPattern apart = MakeBlockPattern(3, {});
  EXPECT_EQ(CountFactorOperations({0, 1, 2}, FindEliminationTree(apart, {0, 1, 2})), 3 * 9);
}

// The factor of a complement is laid out so that cliques are added to it in few stretches.
TEST(Supernodes, CliquesFromBelowMakeFewStretches) {
  const BlockPattern cube = MakeGrid(8, 8, 8, false);
  std::vector<int> half(cube.num_nodes / 2);
  std::iota(half.begin(), half.end(), 0);
  SupernodeLayout below(cube, FindEliminationOrder(cube));
  below.LayOut(half);
  SparseComplement complement;
  complement.LayOut(cube, below);
  const auto count_stretches = [&](const SupernodeLayout* cliques_of) {
    SupernodeLayout layout(complement.pattern(), complement.order());
    layout.LayOut({}, cliques_of);
    int stretches = 0;
    for (int k = 0; k < below.num_cliques(); ++k) {
      std::vector<int> positions, run_end;
      for (const int node : below.clique(k)) positions.push_back(layout.position(node));
      std::ranges::sort(positions);
      run_end.resize(positions.size());
      FindRuns(positions, run_end);
      for (std::size_t r = 0; r < positions.size(); r = run_end[r]) ++stretches;
    }
    return stretches;
  };
  EXPECT_LT(count_stretches(&below), 0.5 * count_stretches(nullptr));
}

INSTANTIATE_TEST_SUITE_P(Participants, SupernodesTest,
                         testing::Values(std::vector<int>{}, std::vector<int>{3, 17, 50, 51, 200}));

}  // namespace
}  // namespace pliant::solvers
