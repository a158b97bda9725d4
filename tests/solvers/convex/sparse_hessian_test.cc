#include "solvers/hessian/sparse_hessian.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

// Two strings of nodes, a rigid body and a tree of seven joints, with scalar rows and in contact
// with each other and the world. The strings are sparse blocks or dense ones.
class SparseHessianTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 40;

  SparseHessianTest() : random_(3), uniform_(-1, 1), pattern_(MakeBandPattern(kNodes, 3)) {
    for (int k = 0; k < kNodes; ++k) order_.push_back((7 * k) % kNodes);
    for (BlockMatrix& A : strings_) FillAtRandom([this] { return uniform_(random_); }, 12, &A);
    for (const int size : {6, 7}) {
      Eigen::MatrixXd B(size, size);
      for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform_(random_);
      dense_.push_back(B * B.transpose() + 0.1 * Eigen::MatrixXd::Identity(size, size));
    }
    for (const BlockMatrix& A : strings_) dense_.push_back(ToDense(A));
    const int string = 3 * kNodes;
    whole_.system.blocks = {{0, string, {&strings_[0], order_}},
                            {string, 6, Dense(0)},
                            {string + 6, string, {&strings_[1], order_}},
                            {2 * string + 6, 7, Dense(1)}};
    whole_.system.num_velocities = 2 * string + 13;
    for (int i = 0; i < whole_.size(); ++i) whole_.system.v_star.push_back(uniform_(random_));
    whole_.system.linear_term.assign(whole_.size(), 0.0);
    for (int c = 0; c < 30; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-3, 1e-3, 0.02};
      contact.v_hat = {0, 0, 0.1 * uniform_(random_)};
      contact.friction = 0.5;
      whole_.AddContact(contact);
      const auto add = [this](int first, int columns) {
        whole_.AddContactEntry(first, columns, [this] { return uniform_(random_); });
      };
      // on a face of one string, and also on the other string, the body or the tree
      for (int k = 0; k < 3; ++k) add(3 * (c + k), 3);
      if (c % 4 == 1) add(string + 6 + 3 * (c / 2), 3);
      if (c % 4 == 2) add(string, 6);
      if (c % 4 == 3) add(2 * string + 6, 7);
    }
    // on single velocities, two of which belong to one node
    for (int k = 0; k < 5; ++k) {
      whole_.AddRow({0.01, 0.1, -1, 0.2 * k});
      for (const int first : {3 * k, 3 * k + 2, 2 * string + 6 + k})
        whole_.AddRowEntry(first, 1, [this] { return uniform_(random_); });
    }
  }

  std::span<const double> Dense(int k) const {
    return {dense_[k].data(), static_cast<std::size_t>(dense_[k].size())};
  }

  WholeProblem WithDenseBlocks() const {
    WholeProblem whole = whole_;
    for (const int b : {0, 2}) whole.system.blocks[b].A = Dense(2 + b / 2);
    return whole;
  }

  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_;
  BlockPattern pattern_;
  std::vector<int> order_;
  BlockMatrix strings_[2] = {BlockMatrix(&pattern_), BlockMatrix(&pattern_)};
  std::vector<Eigen::MatrixXd> dense_;
  WholeProblem whole_;
};

TEST_F(SparseHessianTest, GivesTheSolutionOfDenseBlocks) {
  SapOptions options;
  options.relative_tolerance = 1e-12;
  const SapResult sparse = whole_.Solve(whole_.v_star(), options);
  const SapResult dense = WithDenseBlocks().Solve(whole_.v_star(), options);
  ASSERT_TRUE(sparse.converged || sparse.stalled);
  ASSERT_TRUE(dense.converged || dense.stalled);
  EXPECT_GT(sparse.iterations, 2);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(sparse.v[i], dense.v[i], 1e-10);
  for (std::size_t c = 0; c < dense.gamma.size(); ++c)
    EXPECT_LT((sparse.gamma[c] - dense.gamma[c]).norm(), 1e-8);
}

TEST_F(SparseHessianTest, ALinearTermStandsForAnotherFreeMotion) {
  SapOptions options;
  options.relative_tolerance = 1e-12;
  const SapResult free = whole_.Solve(whole_.v_star(), options);
  // A (v − v*) = A (v − w) − A (v* − w)
  WholeProblem shifted = whole_;
  for (double& w : shifted.system.v_star) w = uniform_(random_);
  const WholeProblem by_dense = WithDenseBlocks();
  for (const auto& block : by_dense.system.blocks) {
    Eigen::VectorXd difference(block.size);
    for (int i = 0; i < block.size; ++i)
      difference[i] = whole_.v_star()[block.first + i] - shifted.v_star()[block.first + i];
    Eigen::Map<Eigen::VectorXd>(&shifted.system.linear_term[block.first], block.size) =
        Eigen::Map<const Eigen::MatrixXd>(block.A.dense.data(), block.size, block.size) *
        difference;
  }
  const SapResult result = shifted.Solve(shifted.v_star(), options);
  ASSERT_TRUE(result.converged || result.stalled);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(result.v[i], free.v[i], 1e-9);
  // the cost still decreases, and may be negative
  for (std::size_t k = 1; k < result.costs.size(); ++k)
    EXPECT_LE(result.costs[k], result.costs[k - 1] + 1e-12 * std::abs(result.costs[0]));
}

TEST_F(SparseHessianTest, WhatWasAnalysedBeforeChangesNoBit) {
  SapSolver used;
  SapResult result, again;
  WholeProblem fewer = whole_;
  fewer.problem.contacts.resize(4);
  fewer.system.contacts.resize(4);
  fewer.Solve(fewer.v_star(), {}, &used, &result);
  whole_.Solve(whole_.v_star(), {}, &used, &result);
  whole_.Solve(whole_.v_star(), {}, &used, &again);
  const SapResult fresh = whole_.Solve(whole_.v_star(), {});
  EXPECT_EQ(result.v, fresh.v);
  EXPECT_EQ(again.v, fresh.v);
}

}  // namespace
}  // namespace pliant::solvers
