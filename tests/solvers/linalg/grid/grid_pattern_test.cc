#include "solvers/linalg/grid/grid_pattern.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/counted_allocations.h"
#include "tests/solvers/linalg/grid/grid_cells.h"

namespace pliant::solvers {
namespace {

std::vector<GridPoint> NodesOfCell(const GridPoint& base) {
  std::vector<GridPoint> nodes;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) nodes.push_back({base[0] + i, base[1] + j, base[2] + k});
  return nodes;
}

class GridPatternTest : public testing::TestWithParam<std::vector<GridPoint>> {
 protected:
  GridPatternTest() { EXPECT_TRUE(grid_.Update(cells_)); }

  const std::vector<GridPoint> cells_ = GetParam();
  GridPattern grid_;
};

TEST_P(GridPatternTest, HasTheNodesOfItsCellsInOrder) {
  std::set<GridPoint> expected;
  for (const GridPoint& cell : cells_)
    for (const GridPoint& node : NodesOfCell(cell)) expected.insert(node);
  EXPECT_TRUE(std::ranges::equal(grid_.nodes(), expected));
  for (std::size_t i = 0; i < grid_.nodes().size(); ++i) {
    EXPECT_EQ(grid_.FindNodesFrom(grid_.nodes()[i])[0], static_cast<int>(i));
    // the next one along x is another node or none
    GridPoint next = grid_.nodes()[i];
    ++next[0];
    EXPECT_EQ(grid_.FindNodesFrom(next)[0] >= 0, expected.contains(next));
  }
}

TEST_P(GridPatternTest, FindsTheNodesFromAnyBase) {
  // bases within the cells and beside them
  for (const GridPoint& cell : cells_) {
    for (const GridPoint& offset : NodesOfCell({-1, -1, -1})) {
      const GridPoint base{cell[0] + 2 * offset[0], cell[1] + offset[1], cell[2] + offset[2]};
      const auto nodes = grid_.FindNodesFrom(base);
      const std::vector<GridPoint> points = NodesOfCell(base);
      for (int a = 0; a < GridPattern::kCellNodes; ++a) {
        const auto found = std::ranges::find(grid_.nodes(), points[a]);
        const bool is_node = found != grid_.nodes().end();
        EXPECT_EQ(nodes[a], is_node ? static_cast<int>(found - grid_.nodes().begin()) : -1);
      }
    }
  }
}

TEST_P(GridPatternTest, NumbersTheNodesOfACell) {
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const std::vector<GridPoint> expected = NodesOfCell(cells_[c]);
    const auto nodes = grid_.NodesOf(static_cast<int>(c));
    for (int a = 0; a < GridPattern::kCellNodes; ++a)
      EXPECT_EQ(grid_.nodes()[nodes[a]], expected[a]);
  }
}

TEST_P(GridPatternTest, CouplesExactlyTheNodesThatShareACell) {
  std::set<std::pair<int, int>> expected;  // column, row
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const auto nodes = grid_.NodesOf(static_cast<int>(c));
    for (const int column : nodes)
      for (const int row : nodes)
        if (row >= column) expected.emplace(column, row);
  }
  const BlockPattern& pattern = grid_.pattern();
  ASSERT_EQ(pattern.num_nodes, static_cast<int>(grid_.nodes().size()));
  ASSERT_EQ(pattern.column_starts.size(), grid_.nodes().size() + 1);
  ASSERT_EQ(pattern.column_starts.back(), pattern.num_blocks());
  // listed by columns, rows ascending
  std::vector<std::pair<int, int>> listed;
  for (int j = 0; j < pattern.num_nodes; ++j)
    for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k)
      listed.emplace_back(j, pattern.rows[k]);
  EXPECT_TRUE(std::ranges::equal(listed, expected));
}

TEST_P(GridPatternTest, FindsTheBlocksOfACell) {
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    std::array<int, GridPattern::kCellBlocks> blocks;
    grid_.FindBlocks(static_cast<int>(c), blocks);
    const auto nodes = grid_.NodesOf(static_cast<int>(c));
    const int* block = blocks.data();
    for (int b = 0; b < GridPattern::kCellNodes; ++b)
      for (int a = b; a < GridPattern::kCellNodes; ++a)
        EXPECT_EQ(*block++, grid_.pattern().Find(nodes[a], nodes[b]));
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, GridPatternTest,
                         testing::Values(std::vector<GridPoint>{},
                                         std::vector<GridPoint>{{-1, 5, -7}}, BoxCells(5, 6, 4),
                                         RandomCells(7, 0.5, 1), RandomCells(8, 0.1, 2),
                                         RandomCells(9, 0.02, 3), DropCells()));

TEST(GridPattern, ReportsWhetherItsCellsChanged) {
  GridPattern grid;
  EXPECT_TRUE(grid.Update({}));
  EXPECT_FALSE(grid.Update({}));
  std::vector<GridPoint> cells = RandomCells(4, 0.5, 1);
  EXPECT_TRUE(grid.Update(cells));
  EXPECT_FALSE(grid.Update(cells));
  cells.pop_back();
  EXPECT_TRUE(grid.Update(cells));
  GridPattern fresh;
  fresh.Update(cells);
  EXPECT_TRUE(std::ranges::equal(grid.nodes(), fresh.nodes()));
  EXPECT_EQ(grid.pattern().column_starts, fresh.pattern().column_starts);
  EXPECT_EQ(grid.pattern().rows, fresh.pattern().rows);
}

TEST(GridPattern, AllocatesNothingWhileItsMemorySuffices) {
  const std::vector<GridPoint> cells[] = {BoxCells(10, 10, 10), RandomCells(7, 0.5, 1)};
  GridPattern grid;
  grid.Update(cells[0]);
  grid.Update(cells[1]);
  const std::int64_t before = CountAllocations();
  EXPECT_TRUE(grid.Update(cells[0]));
  EXPECT_TRUE(grid.Update(cells[1]));
  EXPECT_EQ(CountAllocations(), before);
}

}  // namespace
}  // namespace pliant::solvers
