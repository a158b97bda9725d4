#include "solvers/corrective/recursive_correction.h"

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kStep = 0.01;

Matrix3d RotationAbout(const Vector3d& axis, double angle) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}

// Two blocks of nine velocities, each with three nodes and a frame; six contacts, four of which
// couple the blocks, and a scalar constraint. `problem` has all inputs of the solver; H is repeated
// as one dense matrix.
struct Fixture {
  Fixture() {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> uniform(-1, 1);
    H = MatrixXd::Zero(30, 18);
    A = MatrixXd::Zero(18, 18);
    for (int b = 0; b < 2; ++b) {
      MatrixXd B(9, 9);
      for (int i = 0; i < 81; ++i) B.data()[i] = uniform(random);
      blocks[b] = B * B.transpose() + MatrixXd::Identity(9, 9);
      A.block(9 * b, 9 * b, 9, 9) = blocks[b];
      problem.blocks.push_back({9, blocks[b].data(), 15 * b, 15, 9 * b});
      const auto add = [&](int row, int first, int columns) {
        problem.entries.push_back({b, row, 3, first, columns, problem.values.size()});
        for (int i = 0; i < 3 * columns; ++i) {
          problem.values.push_back(uniform(random));
          H(row + i % 3, 9 * b + first + i / 3) = problem.values.back();
        }
      };
      for (int node = 0; node < 3; ++node) add(15 * b + 3 * node, 3 * node, 3);
      add(15 * b + 9, 2, 6);
      add(15 * b + 12, 0, 9);
    }
    VectorXd v(18);
    for (int i = 0; i < 18; ++i) v[i] = uniform(random);
    // three more mapped velocities are prescribed
    H.conservativeResize(33, Eigen::NoChange);
    H.bottomRows(3).setZero();
    VectorXd y = H * v;
    y.tail(3) = Vector3d(0.1, -0.2, 0.3);
    problem.y_free.assign(y.begin(), y.end());

    const auto part = [&](int block, int row, int height) {
      MappedPart& part = problem.parts.emplace_back();
      part.block = block;
      part.row = row;
      part.height = height;
      for (int i = 0; i < 3 * height; ++i) part.J[i] = uniform(random);
    };
    for (int c = 0; c < 6; ++c) {
      CorrectiveContact& contact = problem.contacts.emplace_back();
      contact.first_part = static_cast<int>(problem.parts.size());
      part(0, 3 * (c % 3), 3);
      if (c == 1) part(0, 9, 6);
      if (c < 4) part(1, c % 2 == 0 ? 15 + 3 * (c % 3) : 24, c % 2 == 0 ? 3 : 6);
      if (c == 5) part(-1, 30, 3);
      contact.num_parts = static_cast<int>(problem.parts.size()) - contact.first_part;
      contact.R_WC = RotationAbout(Vector3d(1, c, 2), 0.7 * c + 0.1);
      contact.gap = 0.001 * c - 0.002;
      contact.friction = 0.4;
      frames.push_back(contact.R_WC);
    }
    CorrectiveContact& scalar = problem.contacts.emplace_back();
    scalar.first_part = static_cast<int>(problem.parts.size());
    part(1, 18, 3);
    for (int i = 0; i < 3; ++i)
      problem.parts.back().J[3 * i] = problem.parts.back().J[3 * i + 1] = 0;
    scalar.num_parts = 1;
    scalar.gap = 0.004;
    scalar.lower = -0.05;
    scalar.upper = 0.05;
    EXPECT_EQ(compliance.Build(problem.blocks, problem.entries, problem.values), -1);
  }

  // P of a contact's relative velocity u = P y.
  MatrixXd MapOf(int contact) const {
    MatrixXd P = MatrixXd::Zero(3, 33);
    const CorrectiveContact& row = problem.contacts[contact];
    for (int p = row.first_part; p < row.first_part + row.num_parts; ++p) {
      const MappedPart& part = problem.parts[p];
      P.block(0, part.row, 3, part.height) +=
          Eigen::Map<const MatrixXd>(part.J.data(), 3, part.height);
    }
    return P;
  }

  MatrixXd A, H;
  MatrixXd blocks[2];
  CorrectiveProblem problem;
  std::vector<Matrix3d> frames;
  MappingCompliance compliance;
};

// Displacements stay linear; contact frames rotate with the contact's displacement.
class LinearMap final : public Relinearisation {
 public:
  LinearMap(const Fixture& f, double turning) : turning_(turning), frames_(f.frames) {
    for (int i = 0; i < 7; ++i) {
      maps_.push_back(f.MapOf(i));
      gaps_.push_back(f.problem.contacts[i].gap);
    }
  }
  void Update(std::span<const double> y, std::span<const double>, int first, int last,
              CorrectiveProblem* problem) override {
    for (int i = first; i < last; ++i) {
      CorrectiveContact& contact = problem->contacts[i];
      const Vector3d moved = kStep * maps_[i] * VectorXd::Map(y.data(), 33);
      if (i < 6) {
        contact.R_WC = RotationAbout(moved, turning_ * moved.norm()) * frames_[i];
        contact.slip_W = moved;
        contact.gap = gaps_[i] + contact.R_WC.col(2).dot(moved);
      } else {
        contact.gap = gaps_[i] + moved.z();
      }
    }
  }

 private:
  double turning_;
  std::vector<Matrix3d> frames_;
  std::vector<MatrixXd> maps_;
  std::vector<double> gaps_;
};

CorrectionOptions MakeOptions(CorrectionOptions::Scheme scheme) {
  CorrectionOptions options;
  options.scheme = scheme;
  options.h = kStep;
  options.tolerance = 1e-12;
  options.recursions = 40;
  options.sweeps = 400;
  return options;
}

RecursiveCorrection Solve(const CorrectionOptions& options, double turning) {
  Fixture f;
  LinearMap map(f, turning);
  RecursiveCorrection correction;
  correction.Solve(f.compliance, {}, options, &f.problem, &map);
  return correction;
}

TEST(MappingCompliance, EqualsDenseHTimesInverseTimesHTransposed) {
  const Fixture f;
  const MatrixXd dense = f.H * f.A.inverse() * f.H.transpose();
  for (int b = 0; b < 2; ++b) {
    for (int i = 15 * b; i < 15 * b + 15; ++i)
      for (int j = 15 * b; j < 15 * b + 15; ++j)
        EXPECT_NEAR(f.compliance.at(b, i, j), dense(i, j), 1e-10) << i << " " << j;
  }
  // products with it agree too
  VectorXd F = VectorXd::LinSpaced(33, -1, 1), dv(18);
  f.compliance.CalcVelocityChange({F.data(), 33}, {dv.data(), 18});
  EXPECT_LT((dv - f.A.inverse() * f.H.transpose() * F).norm(), 1e-10);
  VectorXd y = VectorXd::Zero(33);
  f.compliance.AddMapped({dv.data(), 18}, {y.data(), 33});
  EXPECT_LT((y - f.H * dv).norm(), 1e-12);
  y.setZero();
  f.compliance.AddColumns(1, 24, 6, &F[24], y.data());
  EXPECT_LT((y.segment(15, 15) - dense.block(15, 24, 15, 6) * F.segment(24, 6)).norm(), 1e-10);
}

TEST(MappingCompliance, IsKeptWhileNothingChanges) {
  Fixture f;
  const auto build = [&] {
    EXPECT_EQ(f.compliance.Build(f.problem.blocks, f.problem.entries, f.problem.values), -1);
    return f.compliance.num_kept();
  };
  EXPECT_EQ(build(), 2);
  f.blocks[1](3, 3) += 1;
  EXPECT_EQ(build(), 1);
  EXPECT_EQ(build(), 2);
  f.problem.values[0] += 1e-9;
  EXPECT_EQ(build(), 1);
}

TEST(MappingCompliance, NamesTheBlockThatIsNotPositiveDefinite) {
  Fixture f;
  f.blocks[1](4, 4) = -1;
  EXPECT_EQ(f.compliance.Build(f.problem.blocks, f.problem.entries, f.problem.values), 1);
}

// Contacts of one node with fixed planes through its start.
class FixedPlanes final : public Relinearisation {
 public:
  void Update(std::span<const double> y, std::span<const double>, int first, int last,
              CorrectiveProblem* problem) override {
    const Vector3d moved = kStep * Vector3d::Map(y.data());
    for (int i = first; i < last; ++i) {
      problem->contacts[i].slip_W = moved;
      problem->contacts[i].gap = problem->contacts[i].R_WC.col(2).dot(moved);
    }
  }
};

TEST(RecursiveCorrection, GoesOnAfterASweepThatDropsEveryImpulse) {
  // A mass moves down to a floor and away from a slanted wall. The guess of the wall's impulse
  // lifts it off the floor, and is then dropped itself.
  const Matrix3d A = Matrix3d::Identity();
  CorrectiveProblem problem;
  problem.blocks.push_back({3, A.data(), 0, 3, 0});
  problem.entries.push_back({0, 0, 3, 0, 3, 0});
  problem.values.assign(A.data(), A.data() + 9);
  problem.y_free = {3, 0, -1};
  for (const double angle : {0.0, 0.6}) {
    MappedPart& part = problem.parts.emplace_back();
    part.block = 0;
    part.row = 0;
    part.height = 3;
    for (int i = 0; i < 9; ++i) part.J[i] = A.data()[i];
    CorrectiveContact& contact = problem.contacts.emplace_back();
    contact.first_part = static_cast<int>(problem.parts.size()) - 1;
    contact.num_parts = 1;
    contact.R_WC = RotationAbout(Vector3d::UnitY(), angle);
  }
  MappingCompliance compliance;
  ASSERT_EQ(compliance.Build(problem.blocks, problem.entries, problem.values), -1);
  const Vector3d guess[2] = {Vector3d::Zero(), Vector3d(0, 0, 5)};
  using Scheme = CorrectionOptions::Scheme;
  for (const Scheme scheme : {Scheme::kSingle, Scheme::kFast, Scheme::kStandard}) {
    CorrectiveProblem copy = problem;
    FixedPlanes geometry;
    RecursiveCorrection correction;
    correction.Solve(compliance, guess, MakeOptions(scheme), &copy, &geometry);
    EXPECT_TRUE(correction.result().converged);
    EXPECT_NEAR(correction.result().impulse[0].z(), 1, 1e-12);
    EXPECT_EQ(correction.result().impulse[1].z(), 0);
    EXPECT_GE(correction.result().residuals.front(), 1);
  }
}

TEST(RecursiveCorrection, ItsSolutionSatisfiesTheContactLawOnTheMovedFrames) {
  Fixture f;
  LinearMap map(f, 3);
  RecursiveCorrection correction;
  correction.Solve(f.compliance, {}, MakeOptions(CorrectionOptions::Scheme::kFast), &f.problem,
                   &map);
  const CorrectionResult& result = correction.result();
  ASSERT_TRUE(result.converged) << result.residual;
  // y due to the impulses, by dense algebra
  VectorXd F = VectorXd::Zero(33);
  for (int i = 0; i < 7; ++i)
    F += f.MapOf(i).transpose() * f.problem.contacts[i].R_WC * result.impulse[i];
  F.tail(3).setZero();
  const VectorXd y =
      VectorXd::Map(f.problem.y_free.data(), 33) + f.H * f.A.inverse() * f.H.transpose() * F;
  int sliding = 0, sticking = 0;
  for (int i = 0; i < 6; ++i) {
    const CorrectiveContact& contact = f.problem.contacts[i];
    const Vector3d moved = kStep * (f.MapOf(i) * y);
    const double gap = 0.001 * i - 0.002 + contact.R_WC.col(2).dot(moved);
    const double normal = result.impulse[i].z();
    EXPECT_GE(gap, -1e-10) << i;
    EXPECT_GE(normal, 0) << i;
    EXPECT_LT(std::min(gap, normal), 1e-9) << i;
    const Eigen::Vector2d slip = (contact.R_WC.transpose() * moved).head<2>();
    const double tangential = result.impulse[i].head<2>().norm();
    EXPECT_LE(tangential, 0.4 * normal * (1 + 1e-12)) << i;
    if (normal < 1e-9) continue;  // open, so nothing holds it
    if (tangential < 0.4 * normal * (1 - 1e-9)) {
      EXPECT_LT(slip.norm(), 1e-9) << i;
      ++sticking;
    } else if (slip.norm() > 1e-9) {
      EXPECT_NEAR(slip.normalized().dot(result.impulse[i].head<2>().normalized()), -1, 1e-7) << i;
      ++sliding;
    }
  }
  EXPECT_GT(sliding + sticking, 2);
  // the constraint is satisfied, or its impulse is at a bound
  const double error = 0.004 + kStep * (f.MapOf(6) * y).z();
  EXPECT_TRUE(std::abs(error) < 1e-9 || std::abs(result.impulse[6].z()) == 0.05) << error;
}

TEST(RecursiveCorrection, FastAndStandardFindTheSameForces) {
  for (const double turning : {0.0, 3.0}) {
    // with equal numbers of sweeps the schemes differ by rounding only
    CorrectionOptions options = MakeOptions(CorrectionOptions::Scheme::kFast);
    options.recursions = 5;
    options.sweeps = 30;
    options.tolerance = 1e-300;
    const RecursiveCorrection fast = Solve(options, turning);
    options.scheme = CorrectionOptions::Scheme::kStandard;
    const RecursiveCorrection standard = Solve(options, turning);
    double largest = 0;
    for (const double x : fast.F()) largest = std::max(largest, std::abs(x));
    ASSERT_GT(largest, 0);
    for (std::size_t i = 0; i < fast.F().size(); ++i) {
      EXPECT_NEAR(fast.F()[i], standard.F()[i], 1e-9 * largest) << turning << " " << i;
      EXPECT_NEAR(fast.y()[i], standard.y()[i], 1e-9) << turning << " " << i;
    }
  }
}

TEST(RecursiveCorrection, DirectionsMayBeRenewedAtAnyTime) {
  CorrectionOptions options = MakeOptions(CorrectionOptions::Scheme::kFast);
  const RecursiveCorrection by_recursion = Solve(options, 3);
  ASSERT_TRUE(by_recursion.result().converged);
  for (const auto directions :
       {CorrectionOptions::Directions::kSweep, CorrectionOptions::Directions::kContact}) {
    options.directions = directions;
    const RecursiveCorrection other = Solve(options, 3);
    EXPECT_TRUE(other.result().converged) << other.result().residual;
    EXPECT_NE(other.result().residuals, by_recursion.result().residuals);
    for (std::size_t i = 0; i < other.y().size(); ++i)
      EXPECT_NEAR(other.y()[i], by_recursion.y()[i], 1e-8);
  }
}

// A solver that keeps the impulses as they are.
class Unchanged final : public LinearisationSolver {
 public:
  bool Solve(const FixedLinearisation&, std::vector<Vector3d>*) override { return true; }
  bool IsSqueezed(const FixedLinearisation&) override { return false; }
};

TEST(RecursiveCorrection, ASingleLinearisationReportsTheWholeImpulseOfASpring) {
  Fixture f;
  CorrectiveContact& spring = f.problem.contacts[6];
  spring.is_in_tangent = true;
  spring.compliance = 0.3;
  spring.lower = -1e9;
  const VectorXd row = (f.MapOf(6) * f.H).row(2);
  f.blocks[1] += row.tail(9) * row.tail(9).transpose() / spring.compliance;
  ASSERT_EQ(f.compliance.Build(f.problem.blocks, f.problem.entries, f.problem.values), -1);
  LinearMap map(f, 0);
  CorrectionOptions options = MakeOptions(CorrectionOptions::Scheme::kSingle);
  options.begins_with_sweeps = false;
  RecursiveCorrection correction;
  Unchanged solver;
  correction.Solve(f.compliance, {}, options, &f.problem, &map, &solver);
  EXPECT_TRUE(correction.result().converged);
  // its impulse without A's part, less what A adds as the spring moves
  const double free = (f.MapOf(6) * VectorXd::Map(f.problem.y_free.data(), 33)).z();
  const double velocity = (f.MapOf(6) * VectorXd::Map(correction.y().data(), 33)).z();
  const double held = -(0.004 / kStep + free) / spring.compliance;
  ASSERT_GT(std::abs(velocity - free), 1e-3);
  EXPECT_NEAR(correction.result().impulse[6].z(), held - (velocity - free) / spring.compliance,
              1e-9 * std::abs(held));
}

// Frames that do not rotate need only one linearisation.
TEST(RecursiveCorrection, SchemesDifferInTheirResidualsAndNotInTheMotion) {
  using Scheme = CorrectionOptions::Scheme;
  const RecursiveCorrection fast = Solve(MakeOptions(Scheme::kFast), 0);
  CorrectionOptions options = MakeOptions(Scheme::kSingle);
  options.sweeps = 20000;
  const RecursiveCorrection single = Solve(options, 0);
  options = MakeOptions(Scheme::kStandard);
  options.sweeps = 7;
  options.recursions = 2000;
  const RecursiveCorrection standard = Solve(options, 0);
  for (const RecursiveCorrection* one : {&fast, &single, &standard})
    EXPECT_TRUE(one->result().converged) << one->result().residual;
  EXPECT_NE(fast.result().residuals, single.result().residuals);
  EXPECT_NE(fast.result().residuals, standard.result().residuals);
  for (std::size_t i = 0; i < fast.y().size(); ++i) {
    EXPECT_NEAR(fast.y()[i], single.y()[i], 1e-9);
    EXPECT_NEAR(fast.y()[i], standard.y()[i], 1e-9);
  }
}

TEST(RelaxContact, StaysWhereNothingCanMove) {
  CorrectiveContact contact;
  contact.friction = 0.5;
  const Vector3d impulse =
      RelaxContact(contact, Matrix3d::Zero(), Vector3d(0, 0, -0.1), Vector3d::Zero(), kStep);
  EXPECT_EQ(impulse, Vector3d(Vector3d::Zero()));
}

// Frictions of zero and of a million must not lead to a division by either.
TEST(RelaxContact, TakesAnyFriction) {
  CorrectiveContact contact;
  const Matrix3d W = Matrix3d::Identity();
  const Vector3d delta(-0.003, 0.004, -0.01);
  contact.friction = 0;
  EXPECT_EQ(RelaxContact(contact, W, delta, Vector3d::Zero(), kStep), Vector3d(0, 0, 1));
  contact.friction = 1e6;
  const Vector3d held = RelaxContact(contact, W, delta, Vector3d::Zero(), kStep);
  EXPECT_NEAR((held - Vector3d(0.3, -0.4, 1)).norm(), 0, 1e-15);
}

}  // namespace
}  // namespace pliant::solvers
