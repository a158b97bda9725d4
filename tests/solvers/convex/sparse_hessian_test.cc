#include "solvers/convex/sparse_hessian.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// Two strings of nodes, a rigid body and a tree of seven joints, in contact with each other and with the world, and with
// scalar rows; the strings as sparse blocks or as dense ones.
class SparseHessianTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 40;

  static BlockPattern MakePattern() {
    BlockPattern pattern;
    pattern.num_nodes = kNodes;
    pattern.column_starts = {0};
    for (int j = 0; j < kNodes; ++j) {
      for (int i = j; i < std::min(j + 3, kNodes); ++i) pattern.rows.push_back(i);
      pattern.column_starts.push_back(static_cast<int>(pattern.rows.size()));
    }
    return pattern;
  }

  SparseHessianTest() : random_(3), uniform_(-1, 1), pattern_(MakePattern()) {
    for (int k = 0; k < kNodes; ++k) order_.push_back((7 * k) % kNodes);
    for (BlockMatrix& A : strings_) Fill(&A);
    for (const int size : {6, 7}) {
      Eigen::MatrixXd B(size, size);
      for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform_(random_);
      dense_.push_back(B * B.transpose() + 0.1 * Eigen::MatrixXd::Identity(size, size));
    }
    for (const BlockMatrix& A : strings_) dense_.push_back(ToDense(A));
    const int string = 3 * kNodes;
    problem_.blocks = {{0, string, nullptr, &strings_[0], order_},
                       {string, 6, dense_[0].data()},
                       {string + 6, string, nullptr, &strings_[1], order_},
                       {2 * string + 6, 7, dense_[1].data()}};
    problem_.size = 2 * string + 13;
    for (int i = 0; i < problem_.size; ++i) problem_.v_star.push_back(uniform_(random_));
    for (int c = 0; c < 30; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-3, 1e-3, 0.02};
      contact.v_hat = {0, 0, 0.1 * uniform_(random_)};
      contact.bias = Vector3d::Zero();
      contact.friction = 0.5;
      contact.first_entry = static_cast<int>(problem_.entries.size());
      // on a face of a string, or also on one of the other, the body or the tree
      for (int k = 0; k < 3; ++k) AddEntry(3 * (c + k), 3, 3);
      if (c % 4 == 1) AddEntry(string + 6 + 3 * (c / 2), 3, 3);
      if (c % 4 == 2) AddEntry(string, 6, 3);
      if (c % 4 == 3) AddEntry(2 * string + 6, 7, 3);
      contact.num_entries = static_cast<int>(problem_.entries.size()) - contact.first_entry;
      problem_.contacts.push_back(contact);
    }
    // along single velocities, two of them of one node
    for (int k = 0; k < 5; ++k) {
      const int first = static_cast<int>(problem_.entries.size());
      AddEntry(3 * k, 1, 1);
      AddEntry(3 * k + 2, 1, 1);
      AddEntry(2 * string + 6 + k, 1, 1);
      problem_.rows.push_back({0.01, 0.1, 0, -1, 0.2 * k, first, 3});
    }
    problem_.values = values_;
  }

  void AddEntry(int first, int columns, int height) {
    problem_.entries.push_back({first, columns, values_.size()});
    for (int i = 0; i < height * columns; ++i) values_.push_back(uniform_(random_));
  }

  void Fill(BlockMatrix* A) {
    for (int j = 0; j < kNodes; ++j) {
      for (int k = pattern_.column_starts[j]; k < pattern_.column_starts[j + 1]; ++k) {
        Eigen::Map<Eigen::Matrix3d> block(&A->values[9 * std::size_t(k)]);
        for (int e = 0; e < 9; ++e) block.data()[e] = uniform_(random_);
        // diagonally dominant
        if (pattern_.rows[k] == j)
          block = (block + block.transpose() + 12 * Eigen::Matrix3d::Identity()).eval();
      }
    }
  }

  Eigen::MatrixXd ToDense(const BlockMatrix& A) const {
    Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(3 * kNodes, 3 * kNodes);
    for (int j = 0; j < kNodes; ++j) {
      for (int k = pattern_.column_starts[j]; k < pattern_.column_starts[j + 1]; ++k) {
        const Eigen::Map<const Eigen::Matrix3d> block(&A.values[9 * std::size_t(k)]);
        dense.block<3, 3>(3 * pattern_.rows[k], 3 * j) = block;
        dense.block<3, 3>(3 * j, 3 * pattern_.rows[k]) = block.transpose();
      }
    }
    return dense;
  }

  ConvexProblem WithDenseBlocks() const {
    ConvexProblem problem = problem_;
    for (const int b : {0, 2}) {
      problem.blocks[b].sparse = nullptr;
      problem.blocks[b].A = dense_[2 + b / 2].data();
    }
    return problem;
  }

  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_;
  BlockPattern pattern_;
  std::vector<int> order_;
  BlockMatrix strings_[2] = {BlockMatrix(&pattern_), BlockMatrix(&pattern_)};
  std::vector<Eigen::MatrixXd> dense_;
  std::vector<double> values_;
  ConvexProblem problem_;
};

TEST_F(SparseHessianTest, GivesTheSolutionOfDenseBlocks) {
  SapOptions options;
  options.relative_tolerance = 1e-12;
  const SapResult sparse = SolveSap(problem_, problem_.v_star, options);
  const SapResult dense = SolveSap(WithDenseBlocks(), problem_.v_star, options);
  ASSERT_TRUE(sparse.converged || sparse.stalled);
  ASSERT_TRUE(dense.converged || dense.stalled);
  EXPECT_GT(sparse.iterations, 2);
  for (int i = 0; i < problem_.size; ++i) EXPECT_NEAR(sparse.v[i], dense.v[i], 1e-10);
  for (std::size_t c = 0; c < dense.gamma.size(); ++c)
    EXPECT_LT((sparse.gamma[c] - dense.gamma[c]).norm(), 1e-8);
}

TEST_F(SparseHessianTest, APushIsAnotherWayToTellTheFreeMotion) {
  SapOptions options;
  options.relative_tolerance = 1e-12;
  const SapResult free = SolveSap(problem_, problem_.v_star, options);
  // A (v − v*) = A (v − w) − A (v* − w)
  ConvexProblem pushed = problem_;
  for (double& w : pushed.v_star) w = uniform_(random_);
  pushed.push.resize(pushed.size);
  const ConvexProblem by_dense = WithDenseBlocks();
  for (const auto& block : by_dense.blocks) {
    Eigen::VectorXd difference(block.size);
    for (int i = 0; i < block.size; ++i)
      difference[i] = problem_.v_star[block.first + i] - pushed.v_star[block.first + i];
    Eigen::Map<Eigen::VectorXd>(&pushed.push[block.first], block.size) =
        Eigen::Map<const Eigen::MatrixXd>(block.A, block.size, block.size) * difference;
  }
  const SapResult result = SolveSap(pushed, pushed.v_star, options);
  ASSERT_TRUE(result.converged || result.stalled);
  for (int i = 0; i < problem_.size; ++i) EXPECT_NEAR(result.v[i], free.v[i], 1e-9);
  // the cost falls all the same, and may be below zero
  for (std::size_t k = 1; k < result.costs.size(); ++k)
    EXPECT_LE(result.costs[k], result.costs[k - 1] + 1e-12 * std::abs(result.costs[0]));
}

TEST_F(SparseHessianTest, WhatWasAnalysedBeforeChangesNoBit) {
  SapSolver used;
  SapResult result, again;
  ConvexProblem fewer = problem_;
  fewer.contacts.resize(4);
  used.Solve(fewer, fewer.v_star, {}, &result);
  used.Solve(problem_, problem_.v_star, {}, &result);
  used.Solve(problem_, problem_.v_star, {}, &again);
  const SapResult fresh = SolveSap(problem_, problem_.v_star, {});
  EXPECT_EQ(result.v, fresh.v);
  EXPECT_EQ(again.v, fresh.v);
}

}  // namespace
}  // namespace pliant::solvers
