#include "solvers/linalg/block_matrix.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/execute_on_threads.h"
#include "tests/solvers/linalg/random_matrix.h"

namespace pliant::solvers {
namespace {

// A strip of tetrahedra, each of which shares a face with the next; some reach back to the first
// nodes, so that distant columns add to the same rows.
std::vector<std::array<int, 4>> StripElements(int num_nodes) {
  std::vector<std::array<int, 4>> elements;
  for (int i = 0; i + 3 < num_nodes; ++i) elements.push_back({i, i + 1, i + 2, i + 3});
  for (int i = 1000; i + 3 < num_nodes; i += 500)
    elements.push_back({i / 1000, i, i + 1, num_nodes - 1});
  return elements;
}

class BlockMatrixTest : public ::testing::TestWithParam<int> {
 protected:
  BlockMatrixTest()
      : elements_(StripElements(GetParam())),
        pattern_(MakeBlockPattern(GetParam(), elements_)),
        A_(MakeRandomMatrix(pattern_, elements_, 0.05, 3)) {
    for (int i = 0; i < 3 * GetParam(); ++i) {
      x_.push_back(1 + 1e-3 * (i % 700));
      other_x_.push_back(std::sin(i));
    }
  }

  std::vector<double> MultiplyOn(int threads) const {
    std::vector<double> y(x_.size());
    ExecuteOnThreads(threads, [&] { A_.Multiply(x_, y); });
    return y;
  }

  std::vector<std::array<int, 4>> elements_;
  BlockPattern pattern_;
  BlockMatrix A_;
  std::vector<double> x_, other_x_;
};

TEST_P(BlockMatrixTest, MultipliesAsItsBlocksDo) {
  std::vector<double> expected(x_.size()), sizes(x_.size());
  const auto add = [&](int i, int j, double value) {
    expected[i] += value * x_[j];
    sizes[i] += std::abs(value * x_[j]);
  };
  for (int j = 0; j < pattern_.num_nodes; ++j) {
    for (int k = pattern_.column_starts[j]; k < pattern_.column_starts[j + 1]; ++k) {
      const int i = pattern_.rows[k];
      for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) {
          const double value = A_.values[9 * std::size_t(k) + 3 * c + r];
          add(3 * i + r, 3 * j + c, value);
          if (i != j) add(3 * j + c, 3 * i + r, value);
        }
      }
    }
  }
  const std::vector<double> y = MultiplyOn(1);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-13 * sizes[i]);
}

TEST_P(BlockMatrixTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<double> one = MultiplyOn(1);
  EXPECT_EQ(one, MultiplyOn(2));
  EXPECT_EQ(one, MultiplyOn(5));
}

TEST_P(BlockMatrixTest, MultipliesTwoVectorsAsEach) {
  std::vector<double> y(x_.size()), other_y(x_.size()), alone(x_.size());
  A_.Multiply(x_, other_x_, y, other_y);
  A_.Multiply(x_, alone);
  EXPECT_EQ(y, alone);
  A_.Multiply(other_x_, alone);
  EXPECT_EQ(other_y, alone);
}

// Few blocks, and enough for several stretches.
INSTANTIATE_TEST_SUITE_P(Nodes, BlockMatrixTest, ::testing::Values(50, 20'000));

}  // namespace
}  // namespace pliant::solvers
