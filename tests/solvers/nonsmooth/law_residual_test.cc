#include "solvers/nonsmooth/law_residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "solvers/problem/whole_island.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// A particle of 2 kg on the ground, whose free motion approaches it at 1 m/s and slides at 3 m/s,
// and a stop that acts on its second velocity, on which the contact does not depend.
class LawResidual : public ::testing::Test {
 protected:
  LawResidual() {
    system_.h = problem_.h = kStep;
    system_.num_velocities = 3;
    system_.blocks.push_back({0, 3, std::span<const double>(A_.data(), A_.size())});
    system_.v_star = {3, 0, -1};
    ConstraintSystem::Contact& contact = system_.contacts.emplace_back();
    contact.num_entries = 1;
    contact.W = Eigen::Matrix3d::Identity() / kMass;
    system_.entries.push_back({0, 0, 3, 0});
    system_.values = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    problem_.contacts.push_back({.friction = 0.5});
    ConstraintSystem::Row& row = system_.rows.emplace_back();
    row.first_entry = row.num_entries = 1;
    row.W = 1 / kMass;
    system_.entries.push_back({0, 1, 1, 9});
    system_.values.push_back(1);
    problem_.rows.push_back({.lower = 0, .upper = 70});
    // the impulse stops the normal motion and takes 1 kg m/s from the slip, which remains 2.5 m/s
    impulses_ = {{Vector3d(-1, 0, 2)}, {0}};
    v_ = {2.5, 0, 0};
  }

  double Find() {
    const WholeIsland whole(system_);
    problem_.island = whole.view();
    return CalcLawResidual(problem_, impulses_, v_);
  }

  static constexpr double kStep = 0.01, kMass = 2;
  Eigen::Matrix3d A_ = kMass * Eigen::Matrix3d::Identity();
  ConstraintSystem system_;
  NonsmoothProblem problem_;
  Impulses impulses_;
  std::vector<double> v_;
};

TEST_F(LawResidual, IsZeroAtTheSolution) {
  EXPECT_LE(Find(), 1e-16);
}

TEST_F(LawResidual, IsTheDistanceByWhichAContactClosesInTheStep) {
  v_[2] = -0.3;
  EXPECT_NEAR(Find(), 0.3 * kStep, 1e-15);
}

TEST_F(LawResidual, SeesThatAnOpeningContactPushes) {
  v_[2] = 0.3;
  EXPECT_NEAR(Find(), 0.3 * kStep, 1e-15);
}

TEST_F(LawResidual, SeesFrictionBeyondTheConeWithinItAndAcrossTheSlip) {
  // an impulse that differs by p from that of the law moves the particle by p h / m
  const Vector3d solution = impulses_.contacts[0];
  for (const Vector3d& change : {Vector3d(-0.1, 0, 0), Vector3d(0.1, 0, 0)}) {
    impulses_.contacts[0] = solution + change;
    EXPECT_NEAR(Find(), 0.1 * kStep / kMass, 1e-15) << change.transpose();
  }
  impulses_.contacts[0] = Vector3d(0, -1, 2);
  EXPECT_GT(Find(), 0.5 * kStep / kMass);
}

TEST_F(LawResidual, HoldsRowsToTheirBounds) {
  v_[1] = -0.2;  // against the stop
  EXPECT_NEAR(Find(), 0.2 * kStep, 1e-15);
  v_[1] = 0.2;  // away from it, which is free
  EXPECT_LE(Find(), 1e-15);
  impulses_.rows[0] = -0.4;  // it pulls
  EXPECT_NEAR(Find(), 0.4 * kStep / kMass, 1e-15);
}

TEST_F(LawResidual, IsNotANumberWhereOneIsNot) {
  v_[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Find()));
}

TEST_F(LawResidual, IsZeroWhereNothingCanMove) {
  system_.contacts[0].W.setZero();
  v_[2] = -0.3;
  EXPECT_LE(Find(), 1e-16);
}

// A row along the particle's first velocity that holds it at 2.5 m/s and bends by 1e-4 m/N.
class HeldRow final : public RowSets {
 public:
  bool Evaluate(std::span<const double> v, std::span<const double> lambda, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    std::fill(J.begin(), J.end(), 0.0);
    std::fill(E.begin(), E.end(), 0.0);
    std::fill(error.begin(), error.end(), 0.0);
    J[0] = 1;
    E[0] = 1e-4;
    error[0] = 0.01 * (v[0] - 2.5) + 1e-4 * lambda[0];
    return std::isfinite(error[0]);
  }
};

class SetResidual : public LawResidual {
 protected:
  SetResidual() {
    problem_.sets = {{0, -1, -1, -1}};
    problem_.set_rows = &row_;
  }
  double FindOfSets() {
    const WholeIsland whole(system_);
    problem_.island = whole.view();
    SetResidualScratch scratch;
    return CalcSetResidual(problem_, impulses_, forces_, v_, &scratch);
  }

  HeldRow row_;
  std::vector<double> forces_ = std::vector<double>(6);
};

TEST_F(SetResidual, IsZeroAtTheSolution) {
  EXPECT_LE(FindOfSets(), 1e-16);
}

TEST_F(SetResidual, IsTheErrorOfARow) {
  v_[0] = 2.8;
  impulses_.contacts[0].x() = -0.4;  // balances momentum
  EXPECT_NEAR(FindOfSets(), 0.3 * kStep, 1e-15);
}

TEST_F(SetResidual, IsTheMotionThatAForceWouldHaveGiven) {
  forces_[0] = 4;
  impulses_.contacts[0].x() = -1 - kStep * 4;  // balances momentum, but the row bends
  EXPECT_NEAR(FindOfSets(), 4e-4, 1e-15);
  impulses_.contacts[0] = Vector3d(-1, 0, 32);  // unbalanced
  EXPECT_NEAR(FindOfSets(), 30 * kStep / kMass, 1e-15);
}

TEST_F(SetResidual, IsNotANumberWhereOneIsNot) {
  forces_[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(FindOfSets()));
}

}  // namespace
}  // namespace pliant::solvers
