#include "solvers/linalg/lanes/lane_cholesky.h"

#include <numeric>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/partial_cholesky.h"
#include "tests/solvers/linalg/random_matrix.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Matrices on the graph of a ring, different for each seed: sums of element matrices B Bᵀ plus a
// mass.
class LaneCholeskyTest : public ::testing::Test {
 protected:
  LaneCholeskyTest()
      : elements_(physics::MeshTorus(0.4, 0.1, 0.1, 14)->tetrahedra),
        pattern_(MakeBlockPattern(98, elements_)),
        layout_(std::make_shared<LaneLayout>(pattern_, FindEliminationOrder(pattern_))) {
    for (unsigned seed = 1; seed <= 8; ++seed)
      matrices_.push_back(MakeRandomMatrix(pattern_, elements_, 0.5, seed));
  }

  // Solves for one matrix and right-hand side in a lane among others. Returns the solution, then
  // the Schur complement.
  std::vector<double> Answer(const LaneKernels* kernels, std::vector<const BlockMatrix*> all,
                             int lane, std::span<const int> participants) const {
    LaneCholesky lanes(layout_, kernels);
    lanes.Factor(all);
    std::vector<double> x(3 * std::size_t(pattern_.num_nodes)), schur;
    std::iota(x.begin(), x.end(), 1.0);
    std::vector<double*> questions(all.size(), nullptr);
    questions[lane] = x.data();
    lanes.Solve(questions);
    EXPECT_TRUE(lanes.CalcSchurComplement(lane, participants, &schur));
    x.insert(x.end(), schur.begin(), schur.end());
    return x;
  }

  std::vector<const BlockMatrix*> All() const {
    std::vector<const BlockMatrix*> all;
    for (const BlockMatrix& A : matrices_) all.push_back(&A);
    return all;
  }

  std::vector<int> Some(int count) const {
    std::vector<int> nodes(pattern_.num_nodes);
    std::iota(nodes.begin(), nodes.end(), 0);
    std::shuffle(nodes.begin(), nodes.end(), std::mt19937(5));
    nodes.resize(count);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  std::vector<std::array<int, 4>> elements_;
  BlockPattern pattern_;
  std::shared_ptr<const LaneLayout> layout_;
  std::vector<BlockMatrix> matrices_;
};

TEST_F(LaneCholeskyTest, SolvesInEveryLane) {
  LaneCholesky lanes(layout_);
  lanes.Factor(All());
  std::vector<std::vector<double>> x;
  std::vector<double*> questions;
  for (std::size_t l = 0; l < 8; ++l) {
    EXPECT_EQ(lanes.failed_node(static_cast<int>(l)), -1);
    x.emplace_back(3 * std::size_t(pattern_.num_nodes), 1.0 + static_cast<double>(l));
  }
  for (auto& one : x) questions.push_back(one.data());
  lanes.Solve(questions);
  for (std::size_t l = 0; l < 8; ++l) {
    std::vector<double> Ax(x[l].size());
    matrices_[l].Multiply(x[l], Ax);
    for (const double value : Ax) EXPECT_NEAR(value, 1.0 + static_cast<double>(l), 1e-10);
  }
}

// The condition number of these matrices is about 1e3, and inverting them twice does not worsen it.
TEST_F(LaneCholeskyTest, SchurComplementIsThatOfEliminatingTheParticipantsLast) {
  LaneCholesky lanes(layout_);
  lanes.Factor(All());
  for (const int count : {0, 1, 7, 8, 9, 30, 98}) {
    const std::vector<int> participants = Some(count);
    PartialCholesky expected(&pattern_);
    for (const std::size_t l : {0, 3, 7}) {
      ASSERT_TRUE(expected.Factor(matrices_[l], participants));
      std::vector<double> schur;
      ASSERT_TRUE(lanes.CalcSchurComplement(static_cast<int>(l), participants, &schur));
      ASSERT_EQ(schur.size(), 9 * std::size_t(count) * count);
      const Eigen::Map<const VectorXd> ours(schur.data(), std::ssize(schur)),
          theirs(expected.schur_complement().dense.data(), std::ssize(schur));
      EXPECT_LE((ours - theirs).norm(), 1e-11 * theirs.norm());
    }
  }
}

TEST_F(LaneCholeskyTest, SchurComplementIsExactlySymmetric) {
  LaneCholesky lanes(layout_);
  lanes.Factor(All());
  std::vector<double> schur;
  ASSERT_TRUE(lanes.CalcSchurComplement(2, Some(13), &schur));
  for (int j = 0; j < 39; ++j)
    for (int i = 0; i < j; ++i) EXPECT_EQ(schur[39 * j + i], schur[39 * i + j]);
}

TEST_F(LaneCholeskyTest, BitsDoNotHangOnTheLaneNorOnWhoIsInTheOthers) {
  const std::vector<int> participants = Some(11);
  const BlockMatrix* A = &matrices_[2];
  const auto expected = Answer(nullptr, All(), 2, participants);
  EXPECT_EQ(Answer(nullptr, {A}, 0, participants), expected);
  EXPECT_EQ(Answer(nullptr, {&matrices_[5], &matrices_[1], &matrices_[0], &matrices_[4], A}, 4,
                   participants),
            expected);
  EXPECT_EQ(Answer(nullptr, {&matrices_[6], A, &matrices_[7]}, 1, participants), expected);
}

TEST_F(LaneCholeskyTest, EveryVectorWidthGivesTheSameBits) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this CPU has one vector width only";
  for (const int lane : {1, 6}) {
    EXPECT_EQ(Answer(&kLaneKernelsAvx2, All(), lane, Some(21)),
              Answer(&kLaneKernelsAvx512, All(), lane, Some(21)));
  }
}

TEST_F(LaneCholeskyTest, IndefiniteMatrixFailsAloneAndNamesANode) {
  const auto expected = Answer(nullptr, All(), 3, Some(5));
  matrices_[4].values[9 * std::size_t(pattern_.Find(17, 17))] = -1;
  EXPECT_EQ(Answer(nullptr, All(), 3, Some(5)), expected);
  LaneCholesky lanes(layout_);
  lanes.Factor(All());
  for (int l = 0; l < 8; ++l) {
    if (l != 4) {
      EXPECT_EQ(lanes.failed_node(l), -1);
    }
  }
  EXPECT_GE(lanes.failed_node(4), 0);
  // NaN is no valid pivot either
  matrices_[4].values[9 * std::size_t(pattern_.Find(17, 17))] = std::nan("");
  lanes.Factor(All());
  EXPECT_GE(lanes.failed_node(4), 0);
  EXPECT_EQ(lanes.failed_node(3), -1);
}

TEST_F(LaneCholeskyTest, BadConditionIsTold) {
  // stiff springs and almost no mass: inverting twice would lose the motion of the body as a whole
  BlockMatrix& A = matrices_[0];
  std::fill(A.values.begin(), A.values.end(), 0.0);
  const auto diagonal = [&](int i) { return &A.values[9 * std::size_t(pattern_.Find(i, i))]; };
  for (int j = 0; j < pattern_.num_nodes; ++j) {
    for (int r = 0; r < 3; ++r) diagonal(j)[4 * r] += 1;
    for (int k = pattern_.column_starts[j] + 1; k < pattern_.column_starts[j + 1]; ++k) {
      for (int r = 0; r < 3; ++r) {
        A.values[9 * std::size_t(k) + 4 * r] = -1e8;
        diagonal(j)[4 * r] += 1e8;
        diagonal(pattern_.rows[k])[4 * r] += 1e8;
      }
    }
  }
  LaneCholesky lanes(layout_);
  lanes.Factor(All());
  ASSERT_EQ(lanes.failed_node(0), -1);
  std::vector<double> schur;
  EXPECT_FALSE(lanes.CalcSchurComplement(0, Some(40), &schur));
  EXPECT_TRUE(lanes.CalcSchurComplement(1, Some(40), &schur));
}

// This order need not keep any nodes for last, so minimum degree may need fewer terms.
TEST_F(LaneCholeskyTest, AnOrderThatKeepsNoNodeForLastHasFewerTerms) {
  const BlockPattern ring =
      MakeBlockPattern(294, physics::MeshTorus(0.4, 0.1, 0.1, 42)->tetrahedra);
  const std::vector<int> order = FindEliminationOrder(ring);
  const LaneLayout any(ring, order);
  const LaneLayout none(ring, ReduceOperations(ring, order));
  EXPECT_LT(static_cast<double>(none.terms().size()),
            0.95 * static_cast<double>(any.terms().size()));
}

}  // namespace
}  // namespace pliant::solvers
