#include "solvers/linalg/lu/sparse_lu.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/execute_on_threads.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class Random {
 public:
  explicit Random(int seed) : engine_(seed) {}
  double operator()() { return uniform_(engine_); }

 private:
  std::mt19937 engine_;
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

// Nodes of a grid of n³, each coupled to its neighbours along the axes by random blocks that are
// not symmetric, with `diagonal` times the identity on its own.
BlockSum MakeGrid(int n, double diagonal, int seed = 1) {
  Random random(seed);
  BlockSum A;
  A.Clear(3 * n * n * n);
  const auto node = [&](int x, int y, int z) { return 3 * ((z * n + y) * n + x); };
  const auto add = [&](int i, int j, double of_diagonal) {
    double block[9];
    for (double& value : block) value = random();
    for (int r = 0; r < 3; ++r) block[4 * r] += of_diagonal;
    A.Add(i, j, 3, 3, block, 3);
  };
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        add(node(x, y, z), node(x, y, z), diagonal);
        if (x + 1 < n)
          add(node(x, y, z), node(x + 1, y, z), 0), add(node(x + 1, y, z), node(x, y, z), 0);
        if (y + 1 < n)
          add(node(x, y, z), node(x, y + 1, z), 0), add(node(x, y + 1, z), node(x, y, z), 0);
        if (z + 1 < n)
          add(node(x, y, z), node(x, y, z + 1), 0), add(node(x, y, z + 1), node(x, y, z), 0);
      }
    }
  }
  A.num_lasting = A.entries.size();
  return A;
}

MatrixXd ToDense(const BlockSum& A) {
  MatrixXd dense = MatrixXd::Zero(A.size, A.size);
  for (const BlockSum::Entry& entry : A.entries) dense(entry.row, entry.column) += entry.value;
  return dense;
}

VectorXd MakeRightSide(int size) {
  Random random(7);
  VectorXd b(size);
  for (int i = 0; i < size; ++i) b[i] = random();
  return b;
}

// ‖A x − b‖ of the solution, relative to ‖b‖.
double SolveAndCalcError(const BlockSum& A, SparseLu* lu, std::span<const double> weights = {}) {
  EXPECT_TRUE(lu->Factor(A, weights));
  const VectorXd b = MakeRightSide(A.size);
  VectorXd x = b;
  lu->Solve({x.data(), std::size_t(x.size())});
  MatrixXd dense = ToDense(A);
  for (int i = 0; i < A.size && !weights.empty(); ++i) dense.row(i) *= weights[i];
  return (dense * x - b).norm() / b.norm();
}

TEST(SparseLu, SolvesGridsOfEverySize) {
  for (const int n : {1, 2, 3, 5, 8}) {
    GroupedPattern pattern;
    SparseLu lu(&pattern);
    EXPECT_LT(SolveAndCalcError(MakeGrid(n, 6), &lu), 1e-12) << n;
    EXPECT_EQ(lu.num_replaced_pivots(), 0) << n;
  }
}

TEST(SparseLu, SolvesWithWeightedRows) {
  const BlockSum A = MakeGrid(4, 6);
  std::vector<double> weights(A.size);
  for (int i = 0; i < A.size; ++i) weights[i] = 1 + i % 5;
  GroupedPattern pattern;
  SparseLu lu(&pattern);
  EXPECT_LT(SolveAndCalcError(A, &lu, weights), 1e-12);
}

// A contact between far nodes is added after the permanent entries, and removed again.
TEST(SparseLu, KeepsItsOrderWhenEntriesComeAndGo) {
  const BlockSum grid = MakeGrid(5, 6);
  BlockSum touching = grid;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      touching.Add(i, 3 * 124 + j, 0.3 + i - j);
      touching.Add(3 * 124 + i, j, 0.1 - i + 2 * j);
    }
  }
  GroupedPattern pattern;
  SparseLu lu(&pattern);
  EXPECT_LT(SolveAndCalcError(grid, &lu), 1e-12);
  EXPECT_LT(SolveAndCalcError(touching, &lu), 1e-12);
  EXPECT_LT(SolveAndCalcError(grid, &lu), 1e-12);
  // the solution is that of a fresh object
  GroupedPattern pattern_of_fresh;
  SparseLu fresh(&pattern_of_fresh);
  EXPECT_TRUE(lu.Factor(touching, {}));
  EXPECT_TRUE(fresh.Factor(touching, {}));
  VectorXd x = MakeRightSide(grid.size), y = x;
  lu.Solve({x.data(), std::size_t(x.size())});
  fresh.Solve({y.data(), std::size_t(y.size())});
  EXPECT_EQ(x, y);
}

// Blocks whose first diagonal entries are zero need interchanges within their node.
TEST(SparseLu, InterchangesRowsWithinASupernode) {
  BlockSum A = MakeGrid(4, 6);
  for (BlockSum::Entry& entry : A.entries) {
    if (entry.row / 3 != entry.column / 3) continue;
    // the node's rows in another order: nothing but zeros and small numbers on the diagonal
    entry.row = 3 * (entry.row / 3) + (entry.row + 1) % 3;
    if (entry.row == entry.column) entry.value = 0;
  }
  GroupedPattern pattern;
  SparseLu lu(&pattern);
  EXPECT_LT(SolveAndCalcError(A, &lu), 1e-10);
  EXPECT_EQ(lu.num_replaced_pivots(), 0);
}

// Groups of one to seven unknowns, and constraints without a diagonal entry at the end.
TEST(SparseLu, EliminatesConstraintsLast) {
  Random random(3);
  BlockSum A;
  A.Clear(0);
  A.group_starts.clear();
  for (int tree = 0; tree < 12; ++tree) {
    const int first = A.size, n = 1 + tree % 7;
    A.group_starts.push_back(first);
    A.size += n;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) A.Add(first + i, first + j, random() + (i == j ? 5 : 0));
  }
  A.num_lasting = A.entries.size();
  const int velocities = A.size;
  A.group_starts.push_back(velocities);
  A.num_last = 8;
  A.size += A.num_last;
  for (int k = 0; k < A.num_last; ++k) {
    for (int i = k; i < velocities; i += 9) {
      const double g = 1 + random();
      A.Add(velocities + k, i, g);
      A.Add(i, velocities + k, -g);
    }
    A.Add(velocities + k, velocities + k, 1e-12);
  }
  GroupedPattern pattern;
  SparseLu lu(&pattern);
  EXPECT_LT(SolveAndCalcError(A, &lu), 1e-11);
  EXPECT_EQ(lu.num_replaced_pivots(), 0);
}

TEST(SparseLu, ReplacesPivotsThatVanishAndRefusesNumbersThatAreNotFinite) {
  BlockSum A = MakeGrid(2, 6);
  for (BlockSum::Entry& entry : A.entries)
    if (entry.row < 3) entry.value = 0;
  GroupedPattern pattern;
  SparseLu lu(&pattern);
  EXPECT_TRUE(lu.Factor(A, {}));
  EXPECT_EQ(lu.num_replaced_pivots(), 3);
  A.entries.front().value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(lu.Factor(A, {}));
  EXPECT_LT(SolveAndCalcError(MakeGrid(2, 6), &lu), 1e-12);
}

TEST(SparseLu, HasTheBitsOfOneThread) {
  const BlockSum A = MakeGrid(14, 6);
  const auto solve = [&](int threads) {
    return ExecuteOnThreads(threads, [&] {
      GroupedPattern pattern;
      SparseLu lu(&pattern);
      EXPECT_TRUE(lu.Factor(A, {}));
      VectorXd x = MakeRightSide(A.size);
      lu.Solve({x.data(), std::size_t(x.size())});
      return x;
    });
  };
  EXPECT_EQ(solve(1), solve(2));
}

}  // namespace
}  // namespace pliant::solvers
