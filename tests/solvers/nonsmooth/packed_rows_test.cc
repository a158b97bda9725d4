#include "solvers/nonsmooth/packed_rows.h"

#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "solvers/nonsmooth/block_masses.h"

namespace pliant::solvers {
namespace {

// The entries have 1, 3, 6 and 7 columns that share velocities, on rows of height 3 and 1.
TEST(PackedRows, ProductsAreThoseOfTheDenseMatrix) {
  constexpr int kVelocities = 16;
  const struct {
    int row, height, first, columns;
  } entries[] = {{0, 3, 0, 3}, {0, 3, 3, 6},  {0, 3, 9, 7},
                 {3, 1, 3, 6}, {4, 3, 10, 6}, {7, 1, 15, 1}};
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(8, kVelocities);
  PackedRows packed;
  int row = -1;
  for (const auto& entry : entries) {
    if (entry.row != row) packed.AddRows(entry.height);
    row = entry.row;
    const Eigen::MatrixXd values = Eigen::MatrixXd::Random(entry.height, entry.columns);
    packed.AddEntry(entry.first, entry.columns, values.data());
    J.block(entry.row, entry.first, entry.height, entry.columns) = values;
  }
  const Eigen::VectorXd x = Eigen::VectorXd::Random(8);
  Eigen::VectorXd z = Eigen::VectorXd::Random(kVelocities + PackedRows::kBeyond);
  const Eigen::VectorXd expected = z.head(kVelocities) + J.transpose() * x;
  EXPECT_EQ(packed.AddTransposed(x.data(), z.data()), 8u);
  // sums of at most eight numbers below one are good to a few ulp
  EXPECT_LE((z.head(kVelocities) - expected).cwiseAbs().maxCoeff(), 1e-15);
  Eigen::VectorXd y(8);
  EXPECT_EQ(packed.Multiply(z.data(), y.data()), 8u);
  EXPECT_LE((y - J * z.head(kVelocities)).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(BlockMasses, SolvesWithTheInverseOfALargeBlock) {
  constexpr int n = 29;
  const Eigen::MatrixXd B = Eigen::MatrixXd::Random(n, n);
  const Eigen::MatrixXd H = B * B.transpose() + n * Eigen::MatrixXd::Identity(n, n);
  BlockMasses masses;
  ASSERT_TRUE(masses.Append(n, H.data()));
  const Eigen::VectorXd x = Eigen::VectorXd::Random(n);
  std::vector<double> z(n);
  Eigen::Map<Eigen::VectorXd>(z.data(), n) = H * x;
  masses.Solve(z);
  // the condition number is about ten
  EXPECT_LE((Eigen::Map<Eigen::VectorXd>(z.data(), n) - x).cwiseAbs().maxCoeff(), 1e-13);
  // the triangular factors give the same
  std::vector<double> solved(n);
  Eigen::Map<Eigen::VectorXd>(solved.data(), n) = H * x;
  masses.SolvePart(masses.parts()[0], 1, solved.data());
  EXPECT_LE((Eigen::Map<Eigen::VectorXd>(solved.data(), n) - x).cwiseAbs().maxCoeff(), 1e-13);
}

}  // namespace
}  // namespace pliant::solvers
