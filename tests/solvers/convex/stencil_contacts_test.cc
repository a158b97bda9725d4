// Contacts of many nodes by weights, as particles have them: H of sparse blocks sums them up by the
// nodes that they share.

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/hessian/sparse_hessian.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

using Eigen::Map;
using Eigen::Matrix3d;
using Eigen::MatrixXd;

// A line of nodes in which any kStencil consecutive ones are coupled, a rigid body, a tree of seven
// joints and a chain of nodes. Contacts move kStencil nodes of the line by weights, and one of the
// others, or nothing else.
class StencilContactsTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 60, kStencil = 27, kChain = 12;

  StencilContactsTest() : line_(&line_pattern_), chain_(&chain_pattern_) {
    for (BlockMatrix* A : {&line_, &chain_}) FillAtRandom([this] { return Draw(); }, 180, A);
    for (int k = 0; k < kNodes; ++k) order_.push_back((7 * k) % kNodes);
    for (int k = 0; k < kChain; ++k) chain_order_.push_back(k);
    for (const int size : {6, 7}) {
      const MatrixXd B = MatrixXd::NullaryExpr(size, size, [this] { return Draw(); });
      dense_.push_back(B * B.transpose() + 0.1 * MatrixXd::Identity(size, size));
    }
    dense_.push_back(ToDense(line_));
    dense_.push_back(ToDense(chain_));
    constexpr int kBody = 3 * kNodes, kTree = kBody + 6, kThird = kTree + 7;
    ConstraintSystem& system = whole_.system;
    system.blocks = {{0, kBody, {&line_, order_}},
                     {kBody, 6, Dense(0)},
                     {kTree, 7, Dense(1)},
                     {kThird, 3 * kChain, {&chain_, chain_order_}}};
    system.num_velocities = kThird + 3 * kChain;
    for (int i = 0; i < whole_.size(); ++i) system.v_star.push_back(Draw());
    system.linear_term.assign(whole_.size(), 0.0);
    for (int c = 0; c < 80; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-3, 1e-3, 0.02};
      contact.v_hat = {0, 0, 0.1 * Draw()};
      contact.friction = 0.5;
      whole_.AddContact(contact);
      const Matrix3d Q = Matrix3d::NullaryExpr([this] { return Draw(); });
      std::vector<int> nodes;
      std::vector<double> weights;
      for (int k = 0; k < kStencil; ++k) {
        nodes.push_back(3 * (c / 4 + k));
        weights.push_back(0.5 + 0.5 * Draw());
      }
      whole_.AddWeightedEntry(0, nodes, weights, Q);
      const auto add = [this](int first, int columns) {
        whole_.AddContactEntry(first, columns, [this] { return Draw(); });
      };
      if (c % 4 == 1) add(kBody, 6);
      if (c % 4 == 2) add(kTree, 7);
      if (c % 4 == 3) {
        for (int k = 0; k < 3; ++k) add(kThird + 3 * (c / 10 + k), 3);
      }
    }
    // one contact of as many nodes without weights
    whole_.AddContact(whole_.problem.contacts[0]);
    for (int k = 0; k < kStencil; ++k) {
      const Matrix3d Q = Matrix3d::NullaryExpr([this] { return Draw(); });
      AddNode(10 + k, Q);
    }
    whole_.AddRow({0.01, 0.1, -1, 0.2});
    whole_.AddRowEntry(4, 1, [this] { return Draw(); });
    whole_.AddRowEntry(kTree, 1, [this] { return Draw(); });
  }

  double Draw() { return uniform_(random_); }
  std::span<const double> Dense(int k) const {
    return {dense_[k].data(), static_cast<std::size_t>(dense_[k].size())};
  }
  void AddNode(int node, const Matrix3d& J) {
    const double* value = J.data();
    whole_.AddContactEntry(3 * node, 3, [&value] { return *value++; });
  }
  WholeProblem WithDenseBlocks() const {
    WholeProblem whole = whole_;
    whole.system.blocks[0].A = Dense(2);
    whole.system.blocks[3].A = Dense(3);
    return whole;
  }

  std::mt19937 random_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
  const BlockPattern line_pattern_ = MakeBandPattern(kNodes, kStencil),
                     chain_pattern_ = MakeBandPattern(kChain, 3);
  BlockMatrix line_, chain_;
  std::vector<int> order_, chain_order_;
  std::vector<MatrixXd> dense_;
  WholeProblem whole_;
};

TEST_F(StencilContactsTest, GiveTheSolutionOfDenseBlocks) {
  SapOptions options;
  options.relative_tolerance = 1e-12;
  const SapResult sparse = whole_.Solve(whole_.v_star(), options);
  const SapResult dense = WithDenseBlocks().Solve(whole_.v_star(), options);
  ASSERT_TRUE(sparse.converged || sparse.stalled);
  ASSERT_TRUE(dense.converged || dense.stalled);
  // a wrong Hessian would take many more
  EXPECT_LE(sparse.iterations, dense.iterations + 2);
  EXPECT_GT(sparse.iterations, 2);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(sparse.v[i], dense.v[i], 1e-10) << i;
}

// A block without an elimination order is too large to factor.
TEST_F(StencilContactsTest, AreSolvedByConjugateGradientsWhereTheBlockIsTooLarge) {
  SapOptions options;
  options.relative_tolerance = 1e-10;
  const SapResult factored = whole_.Solve(whole_.v_star(), options);
  whole_.system.blocks[0].A.order = {};
  const SapResult large = whole_.Solve(whole_.v_star(), options);
  ASSERT_TRUE(factored.converged);
  ASSERT_TRUE(large.converged);
  EXPECT_EQ(factored.linear_iterations, 0);
  EXPECT_EQ(large.factorisations, 0);
  // more than one for each direction, which an exact preconditioner would take
  EXPECT_GT(large.linear_iterations, 2 * large.iterations);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(large.v[i], factored.v[i], 1e-7) << i;
}

// One product with H⁻¹ against the matrix written down from its definition.
TEST_F(StencilContactsTest, TheHessianIsThatOfItsDefinition) {
  const WholeIsland island(whole_.system);
  SparseHessian hessian;
  hessian.Analyze(island.view());
  std::vector<SchurComplement> tangents;
  for (const auto& block : whole_.system.blocks) tangents.push_back(block.A);
  hessian.Start(tangents);
  std::vector<Matrix3d> G(whole_.problem.contacts.size());
  for (Matrix3d& g : G) {
    const Matrix3d B = Matrix3d::NullaryExpr([this] { return Draw(); });
    g = B * B.transpose();
  }
  const auto is_open = [](int c) { return c % 5 == 0; };
  hessian.AddContacts([&](int c, Matrix3d* g) {
    *g = G[c];
    return !is_open(c);
  });
  ASSERT_TRUE(hessian.Factor());

  MatrixXd H = MatrixXd::Zero(whole_.size(), whole_.size());
  const WholeProblem by_dense = WithDenseBlocks();
  for (const auto& block : by_dense.system.blocks) {
    H.block(block.first, block.first, block.size, block.size) =
        Map<const MatrixXd>(block.A.dense.data(), block.size, block.size);
  }
  for (std::size_t c = 0; c < G.size(); ++c) {
    if (is_open(static_cast<int>(c))) continue;
    MatrixXd J = MatrixXd::Zero(3, whole_.size());
    for (const auto& entry : whole_.system.entries_of(whole_.system.contacts[c])) {
      whole_.system.ForEachRun(entry, [&](int first, int columns, const double* values) {
        J.middleCols(first, columns) += Map<const MatrixXd>(values, 3, columns);
      });
    }
    H += J.transpose() * G[c] * J;
  }
  Eigen::VectorXd b = Eigen::VectorXd::NullaryExpr(whole_.size(), [this] { return Draw(); });
  Eigen::VectorXd x = b;
  hessian.Solve({x.data(), static_cast<std::size_t>(x.size())});
  EXPECT_LT((H * x - b).norm(), 1e-11 * b.norm());
}

TEST_F(StencilContactsTest, AreSummedByTheNodesThatTheyShare) {
  const WholeIsland island(whole_.system);
  SparseHessian hessian;
  hessian.Analyze(island.view());
  EXPECT_EQ(hessian.num_stencils(), 20);
}

}  // namespace
}  // namespace pliant::solvers
