#include "solvers/nonsmooth/nonsmooth_newton.h"

#include <cmath>
#include <random>
#include <string>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/problem/whole_island.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Solves a problem of a whole system, starting from zero forces.
bool SolveWhole(const ConstraintSystem& system, NonsmoothProblem problem,
                const NonsmoothOptions& options, NonsmoothResult* result) {
  const WholeIsland whole(system);
  problem.island = whole.view();
  return NonsmoothNewton().Solve(problem,
                                 std::vector<Vector3d>(problem.contacts.size(), Vector3d::Zero()),
                                 std::vector<double>(problem.rows.size(), 0.0), options, result);
}

SchurComplement Dense(const MatrixXd& A) {
  return std::span<const double>(A.data(), A.size());
}

// Two blocks of nine velocities and five contacts, four of which couple them; a stop, a holonomic
// row and a row of dry friction.
struct Fixture {
  explicit Fixture(double friction = 0.3, double compliance = 0) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    problem.h = 0.01;
    system.num_velocities = 18;
    A = MatrixXd::Zero(18, 18);
    for (int b = 0; b < 2; ++b) {
      MatrixXd B(9, 9);
      for (int i = 0; i < 81; ++i) B.data()[i] = uniform(random);
      blocks[b] = B * B.transpose() + MatrixXd::Identity(9, 9);
      A.block<9, 9>(9 * b, 9 * b) = blocks[b];
    }
    for (int b = 0; b < 2; ++b) system.blocks.push_back({9 * b, 9, Dense(blocks[b])});
    for (int i = 0; i < 18; ++i) system.v_star.push_back(uniform(random));
    J = MatrixXd::Zero(18, 18);
    const auto add_entry = [&](int row, int height, int block, int columns) {
      const int first = static_cast<int>(random() % (10 - columns));
      system.entries.push_back({block, first, columns, system.values.size()});
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < height; ++i) {
          system.values.push_back(uniform(random));
          J(row + i, 9 * block + first + j) += system.values.back();
        }
      }
    };
    for (int c = 0; c < 5; ++c) {
      NonsmoothProblem::Contact contact;
      contact.gap = 0.001 * (c - 2);
      contact.friction = friction;
      contact.compliance = compliance;
      problem.contacts.push_back(contact);
      ConstraintSystem::Contact rows;
      rows.bias = Vector3d(0.1, 0, -1);
      rows.first_entry = static_cast<int>(system.entries.size());
      for (int b = 0; b < (c == 4 ? 1 : 2); ++b) add_entry(3 * c, 3, b, 4), ++rows.num_entries;
      system.contacts.push_back(rows);
    }
    const double infinity = std::numeric_limits<double>::infinity();
    const double bounds[3][2] = {{0, infinity}, {-infinity, infinity}, {-0.7, 0.7}};
    for (int k = 0; k < 3; ++k) {
      NonsmoothProblem::Row row;
      row.gap = k == 2 ? 0 : -0.002;
      row.lower = bounds[k][0];
      row.upper = bounds[k][1];
      problem.rows.push_back(row);
      ConstraintSystem::Row entries;
      entries.first_entry = static_cast<int>(system.entries.size());
      for (int b = 0; b < 2; ++b) add_entry(15 + k, 1, b, 3), ++entries.num_entries;
      system.rows.push_back(entries);
    }
    W = J * A.ldlt().solve(J.transpose());
    for (int c = 0; c < 5; ++c) system.contacts[c].W = W.block<3, 3>(3 * c, 3 * c);
    for (int k = 0; k < 3; ++k) system.rows[k].W = W(15 + k, 15 + k);
  }

  NonsmoothResult Solve(NonsmoothOptions options) const {
    NonsmoothResult result;
    EXPECT_TRUE(SolveWhole(system, problem, options, &result));
    return result;
  }
  VectorXd Forces(const NonsmoothResult& result) const {
    VectorXd forces(18);
    for (int c = 0; c < 5; ++c) forces.segment<3>(3 * c) = result.contact_forces[c];
    for (int k = 0; k < 3; ++k) forces[15 + k] = result.row_forces[k];
    return forces;
  }

  ConstraintSystem system;
  NonsmoothProblem problem;
  MatrixXd blocks[2], A, J, W;
};

NonsmoothOptions Patient() {
  NonsmoothOptions options;
  options.friction = NonsmoothOptions::Friction::kFixedPoint;
  options.newton_iterations = 2000;
  options.linear_iterations = 200;
  options.tolerance = 1e-11;
  return options;
}

void ExpectSolved(const Fixture& f, const NonsmoothResult& result) {
  ASSERT_TRUE(result.converged) << testing::PrintToString(result.residuals) << result.iterations
                                << " " << result.cycled << " mu " << f.problem.contacts[0].friction;
  const double h = f.problem.h;
  const VectorXd forces = f.Forces(result);
  const VectorXd v_star = Eigen::Map<const VectorXd>(f.system.v_star.data(), 18);
  const VectorXd v = Eigen::Map<const VectorXd>(result.v.data(), 18);
  EXPECT_LT((f.A * (v - v_star) - h * f.J.transpose() * forces).norm(), 1e-12);
  int touching = 0, slipping = 0;
  for (int c = 0; c < 5; ++c) {
    const NonsmoothProblem::Contact& contact = f.problem.contacts[c];
    const Vector3d u = f.J.middleRows(3 * c, 3) * v + f.system.contacts[c].bias;
    const Vector3d force = result.contact_forces[c];
    const double C = contact.gap + h * u.z() + contact.compliance * force.z();
    EXPECT_LT(std::abs(std::min(C, h * h * f.system.contacts[c].W(2, 2) * force.z())), 1e-10);
    EXPECT_LE(force.head<2>().norm(), contact.friction * force.z() * (1 + 1e-8));
    touching += force.z() > 1e-6;
    if (force.z() < 1e-6 || u.head<2>().norm() < 1e-6) continue;
    ++slipping;
    EXPECT_NEAR(force.head<2>().norm(), contact.friction * force.z(), 1e-6 * force.z());
    if (contact.friction > 0) {
      const double cosine = -force.head<2>().normalized().dot(u.head<2>().normalized());
      EXPECT_GT(cosine, 1 - 1e-12);  // within 1e-6 rad
    }
  }
  EXPECT_GE(touching, 2);
  EXPECT_GE(slipping, 1);
  const VectorXd rates = f.J.bottomRows(3) * v;
  EXPECT_NEAR(-0.002 + h * rates[1], 0, 1e-11);
  EXPECT_LT(std::abs(std::min(-0.002 + h * rates[0], forces[15])), 1e-10);
  EXPECT_LE(std::abs(forces[17]), 0.7);
  if (std::abs(rates[2]) > 1e-9) {
    EXPECT_NEAR(forces[17], -std::copysign(0.7, rates[2]), 1e-8);
  }
}

TEST(NonsmoothNewton, ItsSolutionSatisfiesTheContactLaw) {
  for (const double friction : {0.0, 0.1, 0.3, 1.0}) {
    const Fixture f(friction);
    ExpectSolved(f, f.Solve(Patient()));
  }
}

TEST(NonsmoothNewton, SoCompliantContactsDo) {
  const Fixture f(0.3, 1e-3);
  ExpectSolved(f, f.Solve(Patient()));
}

TEST(NonsmoothNewton, TheWayThereChangesNotTheSolution) {
  const Fixture f;
  const NonsmoothResult reference = f.Solve(Patient());
  std::vector<NonsmoothOptions> ways(3, Patient());
  ways[0].ncp = NcpFunction::kMinimumMap;
  ways[1].preconditioner = NonsmoothOptions::Preconditioner::kTimeStep;
  ways[2].step_length = 0.5;
  for (const NonsmoothOptions& options : ways) {
    const NonsmoothResult result = f.Solve(options);
    ExpectSolved(f, result);
    EXPECT_NE(result.residuals, reference.residuals);
    EXPECT_LT((f.Forces(result) - f.Forces(reference)).norm(), 1e-6 * f.Forces(reference).norm());
  }
}

TEST(NonsmoothNewton, EveryLinearSolverLeadsToTheSolution) {
  const Fixture f;
  const NonsmoothResult reference = f.Solve(Patient());
  for (const LinearSolver solver : {LinearSolver::kConjugateGradient, LinearSolver::kJacobi,
                                    LinearSolver::kGaussSeidel, LinearSolver::kDirect}) {
    NonsmoothOptions options = Patient();
    options.linear_solver = solver;
    options.linear_iterations = 3000;
    const NonsmoothResult result = f.Solve(options);
    ExpectSolved(f, result);
    EXPECT_FALSE(result.linear_residuals.empty());
    EXPECT_LT((f.Forces(result) - f.Forces(reference)).norm(), 1e-6 * f.Forces(reference).norm())
        << static_cast<int>(solver);
  }
}

TEST(NonsmoothNewton, AFewIterationsStayWithinTheConeAndTellTheirResidual) {
  const Fixture f;
  NonsmoothOptions options = Patient();
  options.newton_iterations = 2;
  options.linear_iterations = 3;
  const NonsmoothResult result = f.Solve(options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 2);
  EXPECT_EQ(result.residuals.size(), 3u);
  EXPECT_GT(result.residual, options.tolerance);
  for (const Vector3d& force : result.contact_forces) {
    EXPECT_GE(force.z(), 0);
    EXPECT_LE(force.head<2>().norm(), 0.3 * force.z() * (1 + 1e-12));
  }
}

TEST(NonsmoothNewton, RedundantContactsAndOnesWithoutMotionDoNoHarm) {
  Fixture f;
  const NonsmoothResult single = f.Solve(Patient());
  // the same contacts a hundred times, and one that nothing can move
  const std::vector<NonsmoothProblem::Contact> contacts = f.problem.contacts;
  const std::vector<ConstraintSystem::Contact> rows = f.system.contacts;
  for (int k = 1; k < 100; ++k) {
    f.problem.contacts.insert(f.problem.contacts.end(), contacts.begin(), contacts.end());
    f.system.contacts.insert(f.system.contacts.end(), rows.begin(), rows.end());
  }
  f.problem.contacts.push_back({.gap = -0.01, .friction = 0.5});
  f.system.contacts.push_back({.bias = Vector3d(0, 0, -1)});
  NonsmoothResult result;
  NonsmoothOptions options = Patient();
  options.tolerance = 1e-10;
  ASSERT_TRUE(SolveWhole(f.system, f.problem, options, &result));
  EXPECT_TRUE(result.converged) << testing::PrintToString(result.residuals);
  EXPECT_EQ(result.contact_forces[500].norm(), 0);
  const VectorXd difference = Eigen::Map<const VectorXd>(result.v.data(), 18) -
                              Eigen::Map<const VectorXd>(single.v.data(), 18);
  EXPECT_LT(difference.norm(), 1e-6);
}

TEST(NonsmoothNewton, NumbersThatAreNotFiniteAreAnErrorAndNoResult) {
  Fixture f;
  f.problem.contacts[0].gap = std::nan("");
  NonsmoothResult result;
  EXPECT_FALSE(SolveWhole(f.system, f.problem, Patient(), &result));
  Fixture g;
  g.blocks[1](4, 4) = -1;
  EXPECT_FALSE(SolveWhole(g.system, g.problem, Patient(), &result));
}

TEST(NonsmoothNewton, FrictionOfZeroAndOfAMillion) {
  for (const double friction : {0.0, 1e6}) {
    const Fixture f(friction);
    const NonsmoothResult result = f.Solve(Patient());
    EXPECT_TRUE(result.converged) << friction << " " << result.residual;
  }
}

NonsmoothOptions OnCones() {
  NonsmoothOptions options = Patient();
  options.friction = NonsmoothOptions::Friction::kCone;
  return options;
}

TEST(ConeNewton, ItsSolutionSatisfiesTheContactLaw) {
  for (const double friction : {0.0, 0.1, 0.3, 1.0}) {
    for (const double compliance : {0.0, 1e-3}) {
      const Fixture f(friction, compliance);
      const NonsmoothResult result = f.Solve(OnCones());
      ExpectSolved(f, result);
      EXPECT_EQ(result.iterations, 0);
      EXPECT_LT(result.cone_iterations, 120);
    }
  }
}

TEST(ConeNewton, FindsWhatTheFixedPointFinds) {
  const Fixture f;
  const VectorXd reference = f.Forces(f.Solve(Patient()));
  EXPECT_LT((f.Forces(f.Solve(OnCones())) - reference).norm(), 1e-6 * reference.norm());
}

// Ten bodies of six velocities that collide at eighty points with much friction, as in an impact on
// a pile.
struct Impact {
  explicit Impact(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    problem.h = 0.008;
    system.num_velocities = 60;
    for (int b = 0; b < 10; ++b) {
      MatrixXd A = MatrixXd::Zero(6, 6);
      const double mass = 1 + 4 * std::abs(uniform(random));
      for (int i = 0; i < 3; ++i) {
        A(i, i) = mass * (0.02 + 0.02 * std::abs(uniform(random)));
        A(3 + i, 3 + i) = mass;
      }
      masses.push_back(A);
    }
    for (int b = 0; b < 10; ++b) system.blocks.push_back({6 * b, 6, Dense(masses[b])});
    for (int i = 0; i < 60; ++i) system.v_star.push_back(2 * uniform(random));
    for (int c = 0; c < 80; ++c) {
      NonsmoothProblem::Contact contact;
      contact.gap = 0.002 * std::abs(uniform(random));  // zero motion is feasible
      contact.friction = 0.8;
      problem.contacts.push_back(contact);
      ConstraintSystem::Contact rows;
      rows.first_entry = static_cast<int>(system.entries.size());
      // b > 9 is the ground
      const int a = static_cast<int>(random() % 10), b = static_cast<int>(random() % 12);
      const Vector3d n = Vector3d(uniform(random), uniform(random), 1.5).normalized();
      const Vector3d t = n.unitOrthogonal(), s = n.cross(t);
      for (const int body : {a, b}) {
        if (body > 9 || (body == b && a == b)) continue;
        const Vector3d arm = 0.4 * Vector3d(uniform(random), uniform(random), uniform(random));
        const double sign = body == a ? 1 : -1;
        Eigen::Matrix<double, 3, 6> J;
        for (int k = 0; k < 3; ++k) {
          const Vector3d axis = sign * (k == 0 ? t : k == 1 ? s : n);
          J.row(k) << arm.cross(axis).transpose(), axis.transpose();
        }
        system.entries.push_back({body, 0, 6, system.values.size()});
        system.values.insert(system.values.end(), J.data(), J.data() + 18);
        rows.W += J * masses[body].inverse() * J.transpose();
        ++rows.num_entries;
      }
      system.contacts.push_back(rows);
    }
  }
  NonsmoothResult Solve(NonsmoothOptions::Friction friction) const {
    NonsmoothOptions options;
    options.friction = friction;
    options.newton_iterations = 30;
    options.linear_iterations = 100;
    options.tolerance = 1e-8;
    NonsmoothResult result;
    EXPECT_TRUE(SolveWhole(system, problem, options, &result));
    return result;
  }
  ConstraintSystem system;
  std::vector<MatrixXd> masses;
  NonsmoothProblem problem;
};

TEST(ConeNewton, ArrivesWhereTheFixedPointGoesRound) {
  int fixed_point = 0, cone = 0, both = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Impact impact(seed);
    fixed_point += impact.Solve(NonsmoothOptions::Friction::kFixedPoint).converged;
    cone += impact.Solve(NonsmoothOptions::Friction::kCone).converged;
    both += impact.Solve(NonsmoothOptions::Friction::kFixedPointThenCone).converged;
  }
  EXPECT_LE(fixed_point, 10);
  EXPECT_EQ(cone, 20);
  EXPECT_EQ(both, 20);
}

// A cycle is detected, and ends with the best forces found, which lie within the cones, and with
// their residual.
TEST(NonsmoothNewton, ACycleIsToldAndItsBestForcesKept) {
  int cycles = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Impact impact(seed);
    NonsmoothOptions options;
    options.friction = NonsmoothOptions::Friction::kFixedPoint;
    options.newton_iterations = 1000;
    options.tolerance = 1e-12;
    NonsmoothResult result;
    ASSERT_TRUE(SolveWhole(impact.system, impact.problem, options, &result));
    if (!result.cycled) continue;
    ++cycles;
    EXPECT_FALSE(result.converged);
    EXPECT_LT(result.iterations, 1000);
    EXPECT_TRUE(std::isfinite(result.residual));
    EXPECT_LT(result.residual, result.residuals.front());
    for (const Vector3d& force : result.contact_forces)
      EXPECT_LE(force.head<2>().norm(), 0.8 * force.z() * (1 + 1e-12));
  }
  EXPECT_GE(cycles, 5);
}

}  // namespace
}  // namespace pliant::solvers
