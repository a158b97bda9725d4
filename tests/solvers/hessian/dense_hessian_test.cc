#include "solvers/hessian/dense_hessian.h"

#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/problem/whole_island.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A chain of links whose two ends touch different neighbours, rigid bodies on it and on the ground,
// and rows between them.
class DenseHessianTest : public ::testing::Test {
 protected:
  DenseHessianTest() {
    for (const int size : {12, 12, 12, 6, 6}) {
      system_.blocks.push_back({system_.num_velocities, size, {}});
      system_.num_velocities += size;
      masses_.push_back(RandomPositive(size));
    }
    for (std::size_t b = 0; b < masses_.size(); ++b) system_.blocks[b].A = Dense(masses_[b]);
    AddContact({{0, 6, 6}, {1, 0, 6}});
    AddContact({{1, 6, 6}, {2, 0, 6}});
    AddContact({{2, 6, 3}, {3, 0, 6}});
    AddContact({{4, 0, 6}});
    AddContact({{3, 0, 6}, {4, 0, 6}});
    AddRow({{0, 2, 1}});
    AddRow({{2, 1, 4}, {4, 0, 6}});
  }

  struct Touch {
    int block, first, columns;
  };

  double Random() { return uniform_(random_); }
  MatrixXd RandomPositive(int size) {
    MatrixXd B(size, size);
    for (double& x : B.reshaped()) x = Random();
    return B * B.transpose() + 0.1 * MatrixXd::Identity(size, size);
  }
  static SchurComplement Dense(const MatrixXd& A) {
    return std::span<const double>(A.data(), static_cast<std::size_t>(A.size()));
  }
  void AddContact(const std::vector<Touch>& touches) {
    ConstraintSystem::Contact& contact = system_.contacts.emplace_back();
    AddEntries(touches, 3, &contact.first_entry, &contact.num_entries);
    G_.push_back(RandomPositive(3));
  }
  void AddRow(const std::vector<Touch>& touches) {
    ConstraintSystem::Row& row = system_.rows.emplace_back();
    AddEntries(touches, 1, &row.first_entry, &row.num_entries);
    row_G_.push_back(1 + Random());
  }
  // Adds entries of J, and its rows to J_.
  void AddEntries(const std::vector<Touch>& touches, int height, int* first, int* count) {
    *first = static_cast<int>(system_.entries.size());
    *count = static_cast<int>(touches.size());
    MatrixXd J = MatrixXd::Zero(height, system_.num_velocities);
    for (const Touch& touch : touches) {
      system_.entries.push_back({touch.block, touch.first, touch.columns, system_.values.size()});
      for (int j = 0; j < touch.columns; ++j) {
        for (int r = 0; r < height; ++r) {
          system_.values.push_back(Random());
          J(r, system_.blocks[touch.block].first + touch.first + j) = system_.values.back();
        }
      }
    }
    J_.push_back(J);
  }

  // H with the weights of contacts and rows for which `is_kept` holds.
  template <typename F>
  MatrixXd CalcHessian(const std::vector<MatrixXd>& masses, const F& is_kept) const {
    MatrixXd H = MatrixXd::Zero(system_.num_velocities, system_.num_velocities);
    for (std::size_t b = 0; b < masses.size(); ++b) {
      const ConstraintSystem::Block& block = system_.blocks[b];
      H.block(block.first, block.first, block.size, block.size) = masses[b];
    }
    for (std::size_t k = 0; k < J_.size(); ++k) {
      if (!is_kept(k)) continue;
      const MatrixXd G =
          k < G_.size() ? MatrixXd(G_[k]) : MatrixXd::Constant(1, 1, row_G_[k - G_.size()]);
      H += J_[k].transpose() * G * J_[k];
    }
    return H;
  }
  // H⁻¹ b by the class under test.
  template <typename F>
  VectorXd Solve(DenseHessian* hessian, const VectorXd& b, const F& is_kept) const {
    const auto weigh = [&](int c, Matrix3d* G) {
      *G = G_[c];
      return is_kept(c);
    };
    const auto weigh_row = [&](int k) { return is_kept(G_.size() + k) ? row_G_[k] : 0.0; };
    VectorXd x = b;
    EXPECT_TRUE(hessian->FactorAndSolve({weigh, weigh_row}, Span(&x)));
    return x;
  }
  static std::span<double> Span(VectorXd* x) {
    return {x->data(), static_cast<std::size_t>(x->size())};
  }

  std::mt19937 random_{5};
  std::uniform_real_distribution<double> uniform_{-1, 1};
  ConstraintSystem system_;
  std::vector<MatrixXd> masses_, J_;
  std::vector<Matrix3d> G_;
  std::vector<double> row_G_;
};

TEST_F(DenseHessianTest, IsTheSumOfMassesAndWeighedProducts) {
  const WholeIsland whole(system_);
  const IslandView island = whole.view();
  ContactJacobian jacobian;
  jacobian.Start(island, ContactJacobian::Weights::kExpanded);
  for (int c = 0; c < island.num_contacts(); ++c) jacobian.Fill(c);
  std::vector<SchurComplement> tangents;
  for (const MatrixXd& A : masses_) tangents.push_back(Dense(A));
  DenseHessian hessian;
  hessian.Analyse(island, jacobian, tangents);

  VectorXd b(system_.num_velocities);
  for (double& x : b) x = Random();
  const auto expect_solution = [&](const VectorXd& x, const MatrixXd& H) {
    EXPECT_LT((H * x - b).norm(), 1e-10 * b.norm());
  };
  const auto all = [](std::size_t) { return true; };
  expect_solution(Solve(&hessian, b, all), CalcHessian(masses_, all));
  // with other weights, and some that are zero
  const auto some = [](std::size_t k) { return k % 2 == 0; };
  expect_solution(Solve(&hessian, b, some), CalcHessian(masses_, some));
  VectorXd x = b;
  hessian.Solve(Span(&x));
  expect_solution(x, CalcHessian(masses_, some));

  // with other values in the same memory, such as those of a nonlinear momentum
  for (MatrixXd& A : masses_) A *= 2;
  hessian.UpdateTangents();
  expect_solution(Solve(&hessian, b, all), CalcHessian(masses_, all));
}

TEST_F(DenseHessianTest, ThatIsNotPositiveDefiniteIsRefused) {
  masses_[1](0, 0) = -1;
  const WholeIsland whole(system_);
  const IslandView island = whole.view();
  ContactJacobian jacobian;
  jacobian.Start(island, ContactJacobian::Weights::kExpanded);
  for (int c = 0; c < island.num_contacts(); ++c) jacobian.Fill(c);
  std::vector<SchurComplement> tangents;
  for (const MatrixXd& A : masses_) tangents.push_back(Dense(A));
  DenseHessian hessian;
  hessian.Analyse(island, jacobian, tangents);
  std::vector<double> x(system_.num_velocities, 1.0);
  const auto open = [](int, Matrix3d*) { return false; };
  const auto clamped = [](int) { return 0.0; };
  EXPECT_FALSE(hessian.FactorAndSolve({open, clamped}, x));
}

}  // namespace
}  // namespace pliant::solvers
