#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/linalg/branches.h"
#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/supernodes.h"
#include "solvers/linalg/trapezoid/trapezoid.h"
#include "tests/execute_on_threads.h"
#include "tests/solvers/linalg/random_matrix.h"

namespace pliant::solvers {
namespace {

// Elements of a cube of n³ cells, five tetrahedra each: the graph of a mesh without its physics.
std::vector<std::array<int, 4>> CubeElements(int n) {
  const auto id = [n](int i, int j, int k) { return (i * (n + 1) + j) * (n + 1) + k; };
  std::vector<std::array<int, 4>> elements;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        const int a = id(i, j, k), b = id(i + 1, j, k), c = id(i + 1, j + 1, k),
                  d = id(i, j + 1, k);
        const int e = id(i, j, k + 1), f = id(i + 1, j, k + 1), g = id(i + 1, j + 1, k + 1),
                  h = id(i, j + 1, k + 1);
        elements.insert(elements.end(),
                        {{a, b, d, e}, {b, c, d, g}, {b, e, f, g}, {d, e, g, h}, {b, d, e, g}});
      }
    }
  }
  return elements;
}

Eigen::MatrixXd ToDense(const BlockMatrix& A) {
  const BlockPattern& p = *A.pattern;
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(3 * p.num_nodes, 3 * p.num_nodes);
  for (int j = 0; j < p.num_nodes; ++j) {
    for (int k = p.column_starts[j]; k < p.column_starts[j + 1]; ++k) {
      const Eigen::Map<const Eigen::Matrix3d> block(&A.values[9 * std::size_t(k)]);
      dense.block<3, 3>(3 * p.rows[k], 3 * j) = block;
      dense.block<3, 3>(3 * j, 3 * p.rows[k]) = block.transpose();
    }
  }
  return dense;
}

class PartialCholeskyTest : public ::testing::TestWithParam<double> {
 protected:
  PartialCholeskyTest()
      : elements_(CubeElements(4)),
        pattern_(MakeBlockPattern(125, elements_)),
        A_(MakeRandomMatrix(pattern_, elements_, 0.05, 7)) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int i = 0; i < 125; ++i) {
      if (uniform(random) < GetParam()) participants_.push_back(i);
    }
  }

  std::vector<std::array<int, 4>> elements_;
  BlockPattern pattern_;
  BlockMatrix A_;
  std::vector<int> participants_;
};

TEST_P(PartialCholeskyTest, SolvesTheFullSystem) {
  PartialCholesky factor(&pattern_);
  ASSERT_TRUE(factor.Factor(A_, participants_));
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(375, -1, 2), b(375);
  A_.Multiply({x.data(), 375}, {b.data(), 375});
  factor.Solve({b.data(), 375});
  EXPECT_LT((b - x).norm(), 1e-10 * x.norm());
}

TEST_P(PartialCholeskyTest, RecordsTheSchurComplementAndCompletesWhatItGives) {
  PartialCholesky factor(&pattern_);
  ASSERT_TRUE(factor.Factor(A_, participants_));
  const int n = 3 * static_cast<int>(participants_.size());
  const Eigen::MatrixXd dense = ToDense(A_);
  const Eigen::MatrixXd inverse = dense.inverse();
  std::vector<int> rows;
  for (const int p : participants_) rows.insert(rows.end(), {3 * p, 3 * p + 1, 3 * p + 2});
  const Eigen::Map<const Eigen::MatrixXd> schur(factor.schur_complement().dense.data(), n, n);
  // Â⁻¹ is the participants' block of A⁻¹
  const Eigen::MatrixXd product = schur * inverse(rows, rows);
  EXPECT_LT((product - Eigen::MatrixXd::Identity(n, n)).norm(), 1e-10 * (n + 1));

  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(375, -2, 1);
  Eigen::VectorXd x_p(n), x(375);
  const std::span<double> span_p{x_p.data(), static_cast<std::size_t>(n)};
  factor.Reduce({b.data(), 375});
  factor.SolveForParticipants(span_p);
  const Eigen::VectorXd solution = inverse * b;
  EXPECT_LE((x_p - solution(rows)).norm(), 1e-10 * solution.norm());

  // the equations of the other nodes hold for any values of the participants
  x_p = Eigen::VectorXd::LinSpaced(n, 1, 2);
  factor.Complete(span_p, {x.data(), 375});
  Eigen::VectorXd residual = dense * x - b;
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(x[rows[i]], x_p[i]);
    residual[rows[i]] = 0;
  }
  EXPECT_LE(residual.norm(), 1e-10 * x.norm());
}

// The participants are the lower part of a cube, all of it or some. Their complement couples nearby
// nodes only, except in one layer.
class SparseComplementTest : public ::testing::Test {
 protected:
  SparseComplementTest()
      : elements_(CubeElements(8)),
        pattern_(MakeBlockPattern(729, elements_)),
        A_(MakeRandomMatrix(pattern_, elements_, 0.05, 7)) {
    // ids increase layer by layer
    for (int i = 0; i < 360; ++i) half_.push_back(i);
  }

  Eigen::MatrixXd DenseComplement(std::span<const int> participants) const {
    PartialCholesky dense(&pattern_);
    EXPECT_TRUE(dense.Factor(A_, participants));
    const auto n = static_cast<Eigen::Index>(3 * participants.size());
    return Eigen::Map<const Eigen::MatrixXd>(dense.schur_complement().dense.data(), n, n);
  }

  // Factors A, and expects the dense Â, which it returns.
  Eigen::MatrixXd FactorAsTheDenseOne(std::span<const int> participants, PartialCholesky* sparse) {
    EXPECT_TRUE(sparse->Factor(A_, participants, ComplementForm::kSparseWherePays));
    const Eigen::MatrixXd expected = DenseComplement(participants);
    const BlockMatrix* complement = sparse->schur_complement().sparse;
    EXPECT_NE(complement, nullptr);
    if (complement != nullptr) {
      EXPECT_LT((ToDense(*complement) - expected).norm(), 1e-10 * expected.norm());
    }
    return expected;
  }

  std::vector<std::array<int, 4>> elements_;
  BlockPattern pattern_;
  BlockMatrix A_;
  std::vector<int> half_;
};

TEST_F(SparseComplementTest, IsTheDenseOne) {
  PartialCholesky sparse(&pattern_);
  const Eigen::MatrixXd expected = FactorAsTheDenseOne(half_, &sparse);
  ASSERT_NE(sparse.schur_complement().sparse, nullptr);
  EXPECT_LT(sparse.schur_complement().sparse->values.size(), expected.size() / 4);

  // solutions are the same too, in one go and in parts
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(3 * 729, -1, 2), b(3 * 729), r(3 * 360);
  A_.Multiply({x.data(), 3 * 729}, {b.data(), 3 * 729});
  Eigen::VectorXd solved = b;
  sparse.Solve({solved.data(), 3 * 729});
  EXPECT_LT((solved - x).norm(), 1e-10 * x.norm());
  sparse.Reduce({b.data(), 3 * 729});
  sparse.CopyReduced({r.data(), 3 * 360});
  EXPECT_LT((expected * x.head(3 * 360) - r).norm(), 1e-10 * r.norm());
  sparse.Complete({x.data(), 3 * 360}, {solved.data(), 3 * 729});
  EXPECT_LT((solved - x).norm(), 1e-10 * x.norm());
}

// Eliminated parts inside contribute cliques of their own, beside and within that of the upper
// half.
TEST_F(SparseComplementTest, OfSeveralEliminatedPartsIsTheDenseOne) {
  std::vector<int> kept;
  for (const int node : half_) {
    const int layer = node / 81, place = node % 81;
    const bool is_inside = layer == 1 && (place == 20 || place == 21 || place == 60);
    const bool is_below_the_half = layer == 3 && place == 40;
    if (!is_inside && !is_below_the_half) kept.push_back(node);
  }
  PartialCholesky sparse(&pattern_);
  FactorAsTheDenseOne(kept, &sparse);
  ASSERT_NE(sparse.schur_complement().sparse, nullptr);
  // eliminating alone gives the same values
  const std::vector<double> values = sparse.schur_complement().sparse->values;
  ASSERT_TRUE(sparse.Eliminate(A_, kept, ComplementForm::kSparseWherePays));
  EXPECT_EQ(sparse.schur_complement().sparse->values, values);

  ASSERT_TRUE(sparse.Factor(A_, kept, ComplementForm::kSparseWherePays));
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(3 * 729, -1, 2), b(3 * 729);
  A_.Multiply({x.data(), 3 * 729}, {b.data(), 3 * 729});
  sparse.Solve({b.data(), 3 * 729});
  EXPECT_LT((b - x).norm(), 1e-10 * x.norm());
}

TEST_F(SparseComplementTest, FactorsWithFewerOperationsThanTheDenseOne) {
  PartialCholesky sparse(&pattern_), dense(&pattern_);
  sparse.Analyze(half_, ComplementForm::kSparseWherePays);
  dense.Analyze(half_, ComplementForm::kDense);
  EXPECT_LT(sparse.flops(), 0.2 * dense.flops());
}

TEST_F(SparseComplementTest, IsDenseWhereAllAreCoupled) {
  // a layer in the middle, and two of them
  const std::vector<int> layer(half_.end() - 81, half_.end());
  std::vector<int> two_layers(half_.end() - 162, half_.end());
  PartialCholesky factor(&pattern_);
  for (const std::vector<int>& participants : {layer, two_layers}) {
    ASSERT_TRUE(factor.Factor(A_, participants, ComplementForm::kSparseWherePays));
    EXPECT_FALSE(factor.schur_complement().dense.empty());
  }
}

TEST_F(SparseComplementTest, OfNodesAndAllTheirAncestorsAddsNoFill) {
  const std::vector<int> order = FindEliminationOrder(pattern_);
  std::vector<int> kept{3, 100, 600};
  std::vector<char> marks;
  AddAncestors(FindEliminationTree(pattern_, order).parents, &marks, &kept);
  ASSERT_GT(kept.size(), 100u);
  ASSERT_LT(kept.size(), 600u);
  PartialCholesky plain(&pattern_, order), partial(&pattern_, order);
  ASSERT_TRUE(plain.Factor(A_, {}));
  ASSERT_TRUE(partial.Factor(A_, kept, ComplementForm::kSparseWherePays));
  ASSERT_NE(partial.schur_complement().sparse, nullptr);
  // except for the grouping of columns
  EXPECT_NEAR(partial.flops(), plain.flops(), 0.1 * plain.flops());
  EXPECT_LT((ToDense(*partial.schur_complement().sparse) - DenseComplement(kept)).norm(), 1e-9);
}

TEST_F(SparseComplementTest, BitsDoNotDependOnWhatWasFactoredBefore) {
  PartialCholesky fresh(&pattern_), used(&pattern_);
  ASSERT_TRUE(used.Factor(A_, {half_.data(), 200}, ComplementForm::kSparseWherePays));
  ASSERT_TRUE(used.Factor(A_, half_, ComplementForm::kDense));
  ASSERT_TRUE(used.Factor(A_, half_, ComplementForm::kSparseWherePays));
  ASSERT_TRUE(fresh.Factor(A_, half_, ComplementForm::kSparseWherePays));
  EXPECT_EQ(fresh.schur_complement().sparse->values, used.schur_complement().sparse->values);
  std::vector<double> x(3 * 729, 1.0), y(3 * 729, 1.0);
  fresh.Solve(x);
  used.Solve(y);
  EXPECT_EQ(x, y);
}

TEST_F(SparseComplementTest, TellsTheNodeThatIsNotDefinite) {
  PartialCholesky factor(&pattern_);
  for (const int node : {2, 700}) {
    BlockMatrix A = A_;
    A.values[9 * std::size_t(pattern_.Find(node, node)) + 4] = -100;
    EXPECT_FALSE(factor.Factor(A, half_, ComplementForm::kSparseWherePays));
    EXPECT_EQ(factor.failed_node(), node);
  }
}

TEST_P(PartialCholeskyTest, BitsDoNotDependOnWhatWasFactoredBefore) {
  PartialCholesky fresh(&pattern_), used(&pattern_);
  const std::vector<int> other{3, 60, 61, 90};
  ASSERT_TRUE(used.Factor(A_, other));
  ASSERT_TRUE(used.Factor(A_, participants_));
  ASSERT_TRUE(fresh.Factor(A_, participants_));
  std::vector<double> x(375, 1.0), y(375, 1.0);
  fresh.Solve(x);
  used.Solve(y);
  EXPECT_EQ(x, y);
}

INSTANTIATE_TEST_SUITE_P(Shares, PartialCholeskyTest, ::testing::Values(0.0, 0.01, 0.1, 0.5, 1.0));

TEST(PartialCholesky, AnIndefiniteMatrixIsRefusedAndNamed) {
  const auto elements = CubeElements(2);
  const BlockPattern pattern = MakeBlockPattern(27, elements);
  BlockMatrix A = MakeRandomMatrix(pattern, elements, 0.05, 7);
  A.values[9 * std::size_t(pattern.Find(13, 13))] = -1;
  PartialCholesky factor(&pattern);
  EXPECT_FALSE(factor.Factor(A, {}));
  EXPECT_GE(factor.failed_node(), 0);
}

// Several threads must give the same bits as one: on branches of the tree, and on tiles where
// branches meet.
class BranchesOfALargeMatrixTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 13 * 13 * 13, kNumbers = 3 * kNodes;
  BranchesOfALargeMatrixTest()
      : elements_(CubeElements(12)),
        pattern_(MakeBlockPattern(kNodes, elements_)),
        order_(FindEliminationOrder(pattern_)),
        A_(MakeRandomMatrix(pattern_, elements_, 0.05, 7)) {}

  // All numbers that result from a factorisation.
  std::vector<double> Solve(int threads, std::span<const int> participants, ComplementForm form) {
    PartialCholesky factor(&pattern_, order_);
    std::vector<double> numbers(kNumbers);
    for (int i = 0; i < kNumbers; ++i) numbers[i] = 1 + 1e-3 * i;
    ExecuteOnThreads(threads, [&] {
      // twice, to show that nothing is left over from the first time
      EXPECT_TRUE(factor.Factor(A_, participants, form));
      EXPECT_TRUE(factor.Factor(A_, participants, form));
      factor.Solve(numbers);
    });
    const SchurComplement schur = factor.schur_complement();
    const std::span<const double> values = schur.sparse ? schur.sparse->values : schur.dense;
    numbers.insert(numbers.end(), values.begin(), values.end());
    return numbers;
  }

  std::vector<std::array<int, 4>> elements_;
  BlockPattern pattern_;
  std::vector<int> order_;
  BlockMatrix A_;
};

TEST_F(BranchesOfALargeMatrixTest, AreMany) {
  SupernodeLayout layout(pattern_, order_);
  layout.LayOut({});
  layout.Place({}, true);
  EXPECT_GT(layout.branches().parts().size(), 8u);
  // large enough that solves use the branches too
  EXPECT_GT(layout.panel_numbers(), 500'000u);
}

TEST_F(BranchesOfALargeMatrixTest, GiveTheSameBitsForAnyNumberOfThreads) {
  std::vector<int> few{5, 700, 2100}, half;
  for (int i = 0; i < kNodes / 2; ++i) half.push_back(i);
  const auto expect_equal = [this](std::span<const int> participants, ComplementForm form) {
    const std::vector<double> one = Solve(1, participants, form);
    EXPECT_EQ(one, Solve(2, participants, form));
    EXPECT_EQ(one, Solve(5, participants, form));
  };
  expect_equal({}, ComplementForm::kDense);
  expect_equal(few, ComplementForm::kDense);
  expect_equal(half, ComplementForm::kSparseWherePays);
}

TEST_F(BranchesOfALargeMatrixTest, ReduceALoadWithTheMatrixAsAfterIt) {
  std::vector<double> b(kNumbers);
  for (int i = 0; i < kNumbers; ++i) b[i] = 1 + 1e-3 * i;
  std::vector<int> half;
  for (int i = 0; i < kNodes / 2; ++i) half.push_back(i);
  for (const int threads : {1, 3}) {
    PartialCholesky along(&pattern_, order_), after(&pattern_, order_);
    std::vector<double> r_along(3 * half.size()), r_after(3 * half.size());
    ExecuteOnThreads(threads, [&] {
      ASSERT_TRUE(along.Eliminate(A_, half, ComplementForm::kSparseWherePays, b));
      ASSERT_TRUE(after.Eliminate(A_, half, ComplementForm::kSparseWherePays));
      after.Reduce(b);
    });
    along.CopyReduced(r_along);
    after.CopyReduced(r_after);
    EXPECT_EQ(r_along, r_after);
    std::vector<double> x_along(kNumbers), x_after(kNumbers);
    along.Complete(r_along, x_along);
    after.Complete(r_after, x_after);
    EXPECT_EQ(x_along, x_after);
  }
}

TEST_F(BranchesOfALargeMatrixTest, SolveTheFullSystem) {
  std::vector<double> x(kNumbers), b(kNumbers);
  for (int i = 0; i < kNumbers; ++i) x[i] = 1 + 1e-3 * i;
  A_.Multiply(x, b);
  PartialCholesky factor(&pattern_, order_);
  ExecuteOnThreads(3, [&] {
    ASSERT_TRUE(factor.Factor(A_, std::vector<int>{7, 1000}));
    factor.Solve(b);
  });
  for (int i = 0; i < kNumbers; ++i) EXPECT_NEAR(b[i], x[i], 1e-9 * x[i]);
}

TEST_F(BranchesOfALargeMatrixTest, NameTheSameNodeThatIsNotDefinite) {
  // several indefinite nodes, in different branches
  for (const int node : {3, 900, 2000})
    A_.values[9 * std::size_t(pattern_.Find(node, node)) + 4] = -100;
  int failed[2];
  for (const int threads : {1, 5}) {
    PartialCholesky factor(&pattern_, order_);
    ExecuteOnThreads(threads, [&] { EXPECT_FALSE(factor.Factor(A_, {})); });
    failed[threads / 5] = factor.failed_node();
  }
  EXPECT_EQ(failed[0], failed[1]);
}

TEST(DenseKernels, FactorAgreesWithEigenForEveryTileRemainder) {
  for (int n = 1; n < 60; ++n) {
    Eigen::MatrixXd S = Eigen::MatrixXd::Random(n, n);
    S = (S * S.transpose() + n * Eigen::MatrixXd::Identity(n, n)).eval();
    Eigen::MatrixXd L = S;
    ASSERT_EQ(FactorCholesky(n, L.data(), n), -1);
    const Eigen::MatrixXd lower = L.triangularView<Eigen::Lower>();
    EXPECT_LT((lower * lower.transpose() - S).norm(), 1e-13 * S.norm());
  }
}

TEST(DenseKernels, EveryVectorWidthGivesTheSameBits) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this CPU has one vector width only";
  for (const int m : {1, 7, 8, 23, 24, 61}) {
    for (const int k : {1, 5, 40}) {
      const Eigen::MatrixXd A = Eigen::MatrixXd::Random(m, k);
      Eigen::MatrixXd C = Eigen::MatrixXd::Random(m, m), D = C;
      const Eigen::MatrixXd expected = C - A * A.transpose();
      SubtractLowerTrapezoidAvx2(m, m, k, A.data(), m, C.data(), m, false);
      SubtractLowerTrapezoidAvx512(m, m, k, A.data(), m, D.data(), m, false);
      for (int j = 0; j < m; ++j) {
        for (int i = j; i < m; ++i) {
          EXPECT_EQ(C(i, j), D(i, j));
          EXPECT_NEAR(C(i, j), expected(i, j), 1e-14 * (k + 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace pliant::solvers
