#include "solvers/linalg/elimination_order.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "solvers/linalg/partial_cholesky.h"
#include "tests/solvers/linalg/grid.h"

namespace pliant::solvers {
namespace {

double CountOperations(const BlockPattern& pattern, const std::vector<int>& order,
                       std::span<const int> last) {
  PartialCholesky factor(&pattern, order);
  factor.Analyze(last, ComplementForm::kDense);
  return factor.flops();
}

TEST(EliminationOrder, HasEveryNodeOnceAndIsTheSameAgain) {
  for (const BlockPattern& pattern : {MakeGrid(5, 4, 3, false), MakeGrid(40, 3, 2, true)}) {
    const auto dissect = [&] { return FindEliminationOrder(pattern); };
    const auto reduce = [&] { return ReduceOperations(pattern, dissect()); };
    for (const std::function<std::vector<int>()>& find :
         {std::function<std::vector<int>()>(dissect), std::function<std::vector<int>()>(reduce)}) {
      const std::vector<int> order = find();
      std::vector<int> sorted = order, all(pattern.num_nodes);
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all);
      EXPECT_EQ(find(), order);
    }
  }
}

// Worlds of one server order their meshes at the same time.
TEST(EliminationOrder, IsTheSameWhereSeveralThreadsOrderAtOnce) {
  const BlockPattern grids[] = {MakeGrid(9, 8, 7, false), MakeGrid(12, 6, 5, false)};
  const std::vector<int> alone[] = {FindEliminationOrder(grids[0]), FindEliminationOrder(grids[1])};
  std::atomic<int> differ = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i)
        if (FindEliminationOrder(grids[t % 2]) != alone[t % 2]) ++differ;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differ, 0);
}

TEST(EliminationOrder, OfNodesWithoutNeighboursIsAnyOrder) {
  EXPECT_EQ(FindEliminationOrder(MakeBlockPattern(3, {})), (std::vector<int>{0, 1, 2}));
}

TEST(EliminationOrder, KnowsWhetherItTakesMoreOperations) {
  for (const BlockPattern& pattern : {MakeGrid(12, 12, 12, false), MakeGrid(300, 3, 2, true)}) {
    const std::vector<int> order = FindEliminationOrder(pattern);
    const double operations = CountOperations(pattern, order, {});
    EXPECT_TRUE(TakesMoreOperations(pattern, order, 0.8 * operations));
    EXPECT_FALSE(TakesMoreOperations(pattern, order, 1.25 * operations));
  }
}

// Minimum degree does well on a slender ring, unless nodes all around it must come last.
TEST(EliminationOrder, SweepsAlongARingOnlyWhereNoNodesAreKeptForLast) {
  const BlockPattern ring = MakeGrid(60, 3, 3, true);
  const std::vector<int> any = FindEliminationOrder(ring);
  const std::vector<int> none = ReduceOperations(ring, any);
  EXPECT_NE(none, any);
  // three nodes of each section come last
  std::vector<int> last;
  for (int x = 0; x < 60; ++x) last.insert(last.end(), {9 * x, 9 * x + 1, 9 * x + 2});
  EXPECT_LT(1.5 * CountOperations(ring, any, last), CountOperations(ring, none, last));
}

TEST(EliminationOrder, OfACubeNeedsHalfTheOperationsOfOneByLayers) {
  const BlockPattern cube = MakeGrid(7, 7, 7, false);
  std::vector<int> layers(cube.num_nodes);
  std::iota(layers.begin(), layers.end(), 0);
  EXPECT_LT(CountOperations(cube, FindEliminationOrder(cube), {}),
            0.5 * CountOperations(cube, layers, {}));
}

}  // namespace
}  // namespace pliant::solvers
