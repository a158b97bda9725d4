#include "solvers/linalg/branches.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/execute_on_threads.h"

namespace pliant::solvers {
namespace {

TEST(Branches, HoldEveryNodeOnceAfterAllThatHangsOnIt) {
  // random trees, bushy and slender, in postorder
  std::mt19937 random(3);
  for (const int reach : {1, 2, 20, 400}) {
    const int n = 400;
    std::vector<int> parents(n, -1), first(n);
    for (int k = 0; k < n; ++k) first[k] = k;
    // each node takes some of the last trees as children
    std::vector<int> roots;
    for (int k = 0; k < n; ++k) {
      for (int count = static_cast<int>(random() % (reach + 1)); count > 0 && !roots.empty();
           --count) {
        parents[roots.back()] = k;
        roots.pop_back();
      }
      roots.push_back(k);
    }
    const std::vector<double> work(n, 1.0);
    Branches branches;
    branches.Find(parents, work, 10);
    std::vector<int> turn(n, -1);
    int turns = 0;
    for (const Branches::Part& part : branches.parts()) {
      std::vector<int> forward, backward;
      branches.ForOwn(part, [&](int k) { forward.push_back(k); });
      branches.ForOwnBackward(part, [&](int k) { backward.push_back(k); });
      std::ranges::reverse(backward);
      EXPECT_EQ(forward, backward);
      for (const int k : forward) {
        EXPECT_EQ(turn[k], -1);
        turn[k] = turns++;
        // each node belongs to the range of its part
        EXPECT_TRUE(k >= part.begin && k < part.end);
      }
    }
    EXPECT_EQ(turns, n);
    for (int k = 0; k < n; ++k) {
      if (parents[k] >= 0) {
        EXPECT_LT(turn[k], turn[parents[k]]);
      }
    }
    branches.Find(parents, work, 1e3);
    EXPECT_EQ(branches.parts().size(), 1u);
  }
}

// A binary tree of 2^kLevels − 1 nodes in postorder.
constexpr int kLevels = 9;

void AddTree(int levels, std::vector<int>* parents) {
  const auto add = [&](int below) {
    AddTree(below, parents);
    return static_cast<int>(parents->size()) - 1;
  };
  if (levels > 1) {
    const int left = add(levels - 1), right = add(levels - 1);
    (*parents)[left] = (*parents)[right] = right + 1;
  }
  parents->push_back(-1);
}

class BranchesTest : public ::testing::TestWithParam<int> {
 protected:
  BranchesTest() {
    AddTree(kLevels, &parents_);
    branches_.Find(parents_, std::vector<double>(parents_.size(), 1.0), 1.0);
  }

  // Calls f for every node, part by part, with the test parameter's number of threads.
  template <typename F>
  void Visit(bool is_up, const F& f) const {
    ExecuteOnThreads(GetParam(), [&] {
      if (is_up) {
        branches_.VisitUp([&](const Branches::Part& part) { branches_.ForOwn(part, f); });
      } else {
        branches_.VisitDown([&](const Branches::Part& part) { branches_.ForOwnBackward(part, f); });
      }
    });
  }

  std::vector<int> parents_;
  Branches branches_;
};

TEST_P(BranchesTest, AreVisitedOnceAndChildrenFirstOnTheWayUp) {
  ASSERT_GT(branches_.parts().size(), 16u);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::atomic<int>> visits(parents_.size()), children(parents_.size());
    std::atomic<int> faults = 0;
    Visit(true, [&](int node) {
      const bool is_leaf = node == 0 || parents_[node - 1] != node;
      faults += ++visits[node] != 1 || children[node] != (is_leaf ? 0 : 2);
      if (parents_[node] >= 0) ++children[parents_[node]];
    });
    EXPECT_EQ(faults, 0);
    for (const std::atomic<int>& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST_P(BranchesTest, AreVisitedOnceAndParentsFirstOnTheWayDown) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::atomic<int>> visits(parents_.size());
    std::atomic<int> faults = 0;
    Visit(false, [&](int node) {
      faults += parents_[node] >= 0 && visits[parents_[node]] != 1;
      ++visits[node];
    });
    EXPECT_EQ(faults, 0);
    for (const std::atomic<int>& count : visits) ASSERT_EQ(count, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(OnThreads, BranchesTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace pliant::solvers
