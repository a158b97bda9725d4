#include "solvers/corrective/correction_residual.h"

#include <vector>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// One contact of a point that moves with y = (v_x, v_y, v_z), linearised at rest.
class CorrectionResidual : public ::testing::Test {
 protected:
  CorrectionResidual() : y_(3, 0.0), W_{2 * Matrix3d::Identity()} {
    CorrectiveContact contact;
    contact.num_parts = 1;
    contact.friction = 0.5;
    problem_.contacts.push_back(contact);
    MappedPart part;
    part.block = 0;
    part.height = 3;
    for (int r = 0; r < 3; ++r) part.J[4 * r] = 1;
    problem_.parts.push_back(part);
    problem_.y_free.assign(3, 0.0);
  }
  CorrectiveContact& contact() { return problem_.contacts[0]; }
  double Calc(const Vector3d& impulse) const {
    return CalcLawResidual(problem_, std::vector{impulse}, W_, y_, kStep).relative;
  }

  static constexpr double kStep = 0.01;
  CorrectiveProblem problem_;
  std::vector<double> y_;
  std::vector<Matrix3d> W_;
};

TEST_F(CorrectionResidual, VanishesWhereTheLawHolds) {
  // closed, pressing and sticking
  EXPECT_EQ(Calc({0.1, 0.2, 1}), 0);
  // open without an impulse
  contact().gap = 0.01;
  EXPECT_EQ(Calc({0, 0, 0}), 0);
  // sliding along x with opposing friction, on the rim of the cone
  contact().gap = 0;
  y_[0] = 3;
  EXPECT_LT(Calc({-0.5, 0, 1}), 1e-15);
}

TEST_F(CorrectionResidual, IsThePartOfTheImpulseThatTheLawWouldChange) {
  // pressing although 1 mm apart: relaxation removes 1e-3 / (h W) = 0.05 N·s of 1 N·s
  contact().gap = 1e-3;
  EXPECT_NEAR(Calc({0, 0, 1}), 0.05 / 0.95, 1e-14);
  // approaching at 1 m/s without an impulse, so all of it is missing
  contact().gap = 0;
  y_[2] = -1;
  EXPECT_NEAR(Calc({0, 0, 0}), 1, 1e-14);
  // friction in the wrong direction
  y_ = {3, 0, 0};
  EXPECT_GT(Calc({0.5, 0, 1}), 0.5);
}

TEST_F(CorrectionResidual, OfASpringIsWhatItsStretchAsksForAndItDoesNotExert) {
  contact().is_in_tangent = true;
  contact().compliance = 0.1;
  contact().gap = -1e-3;  // 1e-3 / (h R) = 1 N·s
  EXPECT_NEAR(Calc({0, 0, 1}), 0, 1e-15);
  EXPECT_NEAR(Calc({0, 0, 0.5}), 1, 1e-14);
}

TEST_F(CorrectionResidual, MappedDegreesOfFreedomGetTheImpulsesOfTheirContacts) {
  std::vector<double> F;
  CalcMappedImpulses(problem_, std::vector{Vector3d(1, 2, 3)}, &F);
  EXPECT_EQ(F, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace pliant::solvers
