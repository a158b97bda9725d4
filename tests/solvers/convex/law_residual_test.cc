#include "solvers/convex/law_residual.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// One contact of a particle of 2 kg, and a row on its second velocity, on which the contact does
// not depend.
class RegularisedLawResidual : public ::testing::Test {
 protected:
  RegularisedLawResidual() {
    system_.num_velocities = 3;
    system_.blocks.push_back({0, 3, std::span<const double>(A_.data(), A_.size())});
    ConstraintSystem::Contact& contact = system_.contacts.emplace_back();
    contact.num_entries = 1;
    contact.W = 0.5 * Eigen::Matrix3d::Identity();
    system_.entries.push_back({0, 0, 3, 0});
    system_.values = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    ConstraintSystem::Row& row = system_.rows.emplace_back();
    row.first_entry = row.num_entries = 1;
    row.W = 0.5;
    system_.entries.push_back({0, 1, 1, 9});
    system_.values.push_back(1);
    contacts_ = {{.R = Vector3d(1e-3, 1e-3, 1e-4), .v_hat = Vector3d(0, 0, 0.1), .friction = 0.5}};
    rows_ = {{.R = 1e-3, .v_hat = 0, .lower = -0.5, .upper = 0.5}};
    // y = (−20, 0, 40) is on the cone of friction 0.5
    v_ = {0.02, 0, 0.096};
    impulses_ = {{Vector3d(-20, 0, 40)}, {0}};
  }

  double Find() const { return CalcLawResidual(system_, contacts_, rows_, law_, impulses_, v_); }

  Eigen::Matrix3d A_ = 2 * Eigen::Matrix3d::Identity();
  ConstraintSystem system_;
  std::vector<ConvexProblem::Contact> contacts_;
  std::vector<ConvexProblem::Row> rows_;
  const ContactLaw* law_ = nullptr;
  Impulses impulses_;
  std::vector<double> v_;
};

TEST_F(RegularisedLawResidual, IsZeroAtTheLaw) {
  EXPECT_EQ(Find(), 0);
}

TEST_F(RegularisedLawResidual, IsTheErrorOfTheImpulseRelativeToTheLargest) {
  impulses_.contacts[0].z() = 41;
  EXPECT_NEAR(Find(), 1 / std::hypot(20, 41), 1e-9);
}

TEST_F(RegularisedLawResidual, SeesAVelocityThatHasChangedSince) {
  v_[2] -= 1e-4;  // one newton second more
  EXPECT_GT(Find(), 0.5 / std::hypot(20, 40));
}

TEST_F(RegularisedLawResidual, HoldsRowsToTheirBounds) {
  v_[1] = -1;  // the row is at its upper bound
  impulses_.rows[0] = 0.5;
  EXPECT_EQ(Find(), 0);
  impulses_.rows[0] = 0.6;
  EXPECT_NEAR(Find(), 0.1 / impulses_.contacts[0].norm(), 1e-9);
}

TEST_F(RegularisedLawResidual, IsZeroForTheResponseOfEveryLaw) {
  for (const ContactLaw* law : AllContactLaws()) {
    law_ = law;
    contacts_[0].slip = 1e-3;
    contacts_[0].lagged = 40;
    impulses_.contacts[0] =
        law->Respond({Eigen::Vector2d(v_[0], v_[1]), 40, 1e-4, 0.5, 1e-3, 40}).gamma;
    EXPECT_LE(Find(), 1e-12) << law->name();
    impulses_.contacts[0] *= 1.01;
    EXPECT_NEAR(Find(), 0.01 / 1.01, 1e-6) << law->name();
  }
}

TEST_F(RegularisedLawResidual, IgnoresRoundingOfLargeVelocities) {
  impulses_.contacts[0].setZero();
  v_ = {0, 1e3, 0.1 - 1e-14};
  impulses_.rows[0] = -0.5;
  EXPECT_EQ(Find(), 0);
}

TEST_F(RegularisedLawResidual, IsNotANumberWhereOneIsNot) {
  v_[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Find() <= 1);
}

}  // namespace
}  // namespace pliant::solvers
