#include "solvers/corrective/projected_gauss_seidel.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// Two blocks of five velocities and four contacts, three of which couple them.
struct Fixture {
  Fixture() {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int b = 0; b < 2; ++b) {
      Eigen::MatrixXd B(5, 5);
      for (int i = 0; i < 25; ++i) B.data()[i] = uniform(random);
      A.push_back(B * B.transpose() + Eigen::MatrixXd::Identity(5, 5));
    }
    J = Eigen::MatrixXd::Zero(12, 10);
    for (int c = 0; c < 4; ++c) {
      for (int b = 0; b < (c == 3 ? 1 : 2); ++b) {
        for (int j = 0; j < 3; ++j) {
          for (int r = 0; r < 3; ++r) J(3 * c + r, 5 * b + 1 + j) = uniform(random);
        }
      }
    }
    for (int c = 0; c < 4; ++c) {
      entries.emplace_back();
      for (int b = 0; b < (c == 3 ? 1 : 2); ++b) {
        rows.emplace_back(J.block<3, 3>(3 * c, 5 * b + 1));
      }
    }
    std::size_t k = 0;
    for (int c = 0; c < 4; ++c) {
      for (int b = 0; b < (c == 3 ? 1 : 2); ++b) entries[c].push_back({b, 1, 3, rows[k++].data()});
    }
  }
  std::vector<Eigen::MatrixXd> A;
  Eigen::MatrixXd J;
  std::vector<Eigen::Matrix3d> rows;
  std::vector<std::vector<DelassusOperator::Entry>> entries;
};

TEST(Delassus, EqualsDenseJTimesInverseTimesJTransposed) {
  const Fixture f;
  const DelassusOperator W({{5, f.A[0].data()}, {5, f.A[1].data()}}, f.entries);
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(10, 10);
  A.topLeftCorner(5, 5) = f.A[0];
  A.bottomRightCorner(5, 5) = f.A[1];
  const Eigen::MatrixXd dense = f.J * A.inverse() * f.J.transpose();
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_LT((W.block(i, j) - dense.block<3, 3>(3 * i, 3 * j)).norm(), 1e-12);
    }
  }
}

TEST(ProjectedGaussSeidel, ItsSolutionSatisfiesTheContactLaw) {
  const Fixture f;
  const DelassusOperator W({{5, f.A[0].data()}, {5, f.A[1].data()}}, f.entries);
  std::vector<CorrectiveContact> contacts;
  for (int c = 0; c < 4; ++c) contacts.push_back({0.001 * c, {0.3, -0.2 * c, -1}, 0.4, 0});
  GaussSeidelOptions options;
  options.h = 0.01;
  options.tolerance = 1e-13;
  options.max_sweeps = 20000;
  const auto result =
      SolveProjectedGaussSeidel(W, contacts, std::vector<Vector3d>(4, Vector3d::Zero()), options);
  ASSERT_TRUE(result.converged);
  for (int i = 0; i < 4; ++i) {
    Vector3d v = contacts[i].v_free;
    for (int j = 0; j < 4; ++j) v += W.block(i, j) * result.impulse[j];
    const double gap = contacts[i].gap + options.h * v.z();
    const double normal = result.impulse[i].z();
    EXPECT_GE(gap, -1e-10);
    EXPECT_GE(normal, 0);
    EXPECT_LT(std::min(gap, normal), 1e-9);
    const double tangential = result.impulse[i].head<2>().norm();
    EXPECT_LE(tangential, 0.4 * normal * (1 + 1e-12));
    // slip only at the limit, and against it
    if (normal < 1e-9) continue;  // open: nothing to hold it
    if (tangential < 0.4 * normal * (1 - 1e-9)) {
      EXPECT_LT(v.head<2>().norm(), 1e-9);
    } else if (v.head<2>().norm() > 1e-9) {
      EXPECT_NEAR(v.head<2>().normalized().dot(result.impulse[i].head<2>().normalized()), -1, 1e-8);
    }
  }
}

TEST(ProjectedGaussSeidel, AContactThatCannotMoveIsSkipped) {
  const DelassusOperator W({}, {{}});
  const auto result = SolveProjectedGaussSeidel(W, {{-0.1, {0, 0, -1}, 0.5, 0}}, {Vector3d::Zero()},
                                                {0.01, 1e-6, 10});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.impulse[0], Vector3d(Vector3d::Zero()));
}

}  // namespace
}  // namespace pliant::solvers
