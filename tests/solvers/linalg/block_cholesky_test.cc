#include "solvers/linalg/block_cholesky.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/execute_on_threads.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Blocks with the given couplings, random entries and a dominant diagonal.
struct BlockProblem {
  BlockProblem(std::vector<int> block_sizes, std::vector<std::pair<int, int>> pairs)
      : sizes(std::move(block_sizes)), couplings(std::move(pairs)) {
    for (const int size : sizes) {
      starts.push_back(rows);
      rows += size;
    }
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    A = 150 * MatrixXd::Identity(rows, rows);
    b = VectorXd::NullaryExpr(rows, [&] { return uniform(random); });
    const auto couple = [&](int i, int j) {
      for (int c = 0; c < sizes[j]; ++c) {
        for (int r = 0; r < sizes[i]; ++r)
          A(starts[i] + r, starts[j] + c) = A(starts[j] + c, starts[i] + r) += uniform(random);
      }
    };
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) couple(i, i);
    for (const auto& [i, j] : couplings) couple(i, j);
    A = (0.5 * (A + A.transpose())).eval();
  }

  VectorXd Solve(int threads, bool again = false) const {
    VectorXd x = b;
    ExecuteOnThreads(threads, [&] {
      BlockCholesky cholesky;
      cholesky.Analyze(sizes, couplings);
      const auto fill = [&](int panel) {
        cholesky.Clear(panel);
        const auto copy = [&](int i, int j) {
          if (!cholesky.IsKept(i, j) || cholesky.panel_of(j) != panel) return;
          const BlockCholesky::Place place = cholesky.Find(i, j);
          for (int c = 0; c < sizes[j]; ++c) {
            for (int r = 0; r < sizes[i]; ++r)
              place.values[c * place.stride + r] = A(starts[i] + r, starts[j] + c);
          }
        };
        for (int i = 0; i < static_cast<int>(sizes.size()); ++i) copy(i, i);
        for (const auto& [i, j] : couplings) {
          copy(i, j);
          copy(j, i);
        }
      };
      EXPECT_TRUE(cholesky.FactorAndSolve(fill, {x.data(), static_cast<std::size_t>(rows)}));
      if (!again) return;
      x = b;
      cholesky.Solve({x.data(), static_cast<std::size_t>(rows)});
    });
    return x;
  }

  std::vector<int> sizes, starts;
  std::vector<std::pair<int, int>> couplings;
  int rows = 0;
  MatrixXd A;
  VectorXd b;
};

BlockProblem MakeProblem(const std::string& name) {
  std::vector<int> sizes;
  std::vector<std::pair<int, int>> couplings;
  const int n = 24;
  for (int i = 0; i < n; ++i) sizes.push_back(40 + 7 * (i % 3));
  for (int i = 1; i < n; ++i) {
    // each is coupled to the previous one, or to the one at half its index
    couplings.emplace_back(i, name == "chain" ? i - 1 : (i - 1) / 2);
    if (name == "loops" && i % 5 == 0) couplings.emplace_back(i, i - 4);
  }
  return {sizes, couplings};
}

class BlockCholeskyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BlockCholeskyTest, SolvesWhatADenseFactorSolves) {
  const BlockProblem problem = MakeProblem(GetParam());
  const VectorXd expected = problem.A.llt().solve(problem.b);
  for (const bool again : {false, true})
    EXPECT_LE((problem.Solve(1, again) - expected).norm(), 1e-13 * expected.norm());
}

TEST_P(BlockCholeskyTest, BitsAreTheSameForAnyNumberOfThreads) {
  const BlockProblem problem = MakeProblem(GetParam());
  const VectorXd one = problem.Solve(1);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(problem.Solve(2), one);
    EXPECT_EQ(problem.Solve(5), one);
  }
  EXPECT_EQ(problem.Solve(1, true), one);
}

TEST_P(BlockCholeskyTest, IndefiniteMatrixIsTold) {
  BlockProblem problem = MakeProblem(GetParam());
  for (const int block : {0, 11, 23}) {
    const int row = problem.starts[block] + 5;
    const double kept = problem.A(row, row);
    problem.A(row, row) = -1;
    for (const int threads : {1, 3}) {
      VectorXd x = problem.b;
      ExecuteOnThreads(threads, [&] {
        BlockCholesky cholesky;
        cholesky.Analyze(problem.sizes, problem.couplings);
        const auto fill = [&](int panel) {
          cholesky.Clear(panel);
          for (int i = 0; i < static_cast<int>(problem.sizes.size()); ++i) {
            if (cholesky.panel_of(i) != panel) continue;
            const BlockCholesky::Place place = cholesky.Find(i, i);
            for (int r = 0; r < problem.sizes[i]; ++r) {
              const int at = problem.starts[i] + r;
              place.values[r * place.stride + r] = problem.A(at, at);
            }
          }
        };
        EXPECT_FALSE(
            cholesky.FactorAndSolve(fill, {x.data(), static_cast<std::size_t>(problem.rows)}));
      });
    }
    problem.A(row, row) = kept;
  }
}

TEST(BlockCholeskyOrder, ChainIsRolledUpFromBothEnds) {
  const BlockProblem problem = MakeProblem("chain");
  BlockCholesky cholesky;
  cholesky.Analyze(problem.sizes, problem.couplings);
  // two halves, one of which may be a block longer, and the block where they meet, of 24 in all
  EXPECT_LT(cholesky.path_share(), 0.5 + 2.0 / 24);
}

INSTANTIATE_TEST_SUITE_P(Graphs, BlockCholeskyTest, ::testing::Values("chain", "tree", "loops"));

}  // namespace
}  // namespace pliant::solvers
