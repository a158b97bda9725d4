#include "solvers/nonsmooth/row_sets.h"

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/whole_island.h"

namespace pliant::solvers {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using SetJacobian = Eigen::Matrix<double, kSetRows, kSetColumns, Eigen::RowMajor>;
using SetForces = Eigen::Matrix<double, kSetRows, 1>;
using SetCompliance = Eigen::Matrix<double, kSetRows, kSetRows>;

// Sets with error = h J v + e0 + E λ and constant J and E.
class LinearSets final : public RowSets {
 public:
  bool Evaluate(std::span<const double> v, std::span<const double> lambda, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    for (std::size_t k = 0; k < J.size() / 72; ++k) {
      SetJacobian::Map(&J[72 * k]) = jacobians[k];
      SetCompliance::Map(&E[36 * k]) = compliances[k];
      Eigen::Matrix<double, 12, 1> packed = Eigen::Matrix<double, 12, 1>::Zero();
      for (int part = 0; part < 4; ++part) {
        if (columns[k][part] < 0) continue;
        packed.segment<3>(3 * part) = Vector3d::Map(&v[columns[k][part]]);
      }
      SetForces::Map(&error[6 * k]) =
          h * jacobians[k] * packed + offsets[k] + compliances[k] * SetForces::Map(&lambda[6 * k]);
    }
    return true;
  }

  double h = 0;
  std::vector<SetColumns> columns;
  std::vector<SetJacobian> jacobians;
  std::vector<SetCompliance> compliances;
  std::vector<SetForces> offsets;
};

// Adds a block of one particle with the 3 × 3 mass matrix `A`.
void AddParticle(int first, const double* A, ConstraintSystem* system) {
  ConstraintSystem::Block& block = system->blocks.emplace_back();
  block.first = first;
  block.size = 3;
  block.first_mass = static_cast<int>(system->masses.size());
  block.num_masses = 1;
  block.are_particles = true;
  system->masses.push_back({0, 3, A});
}

// Six particles and a rigid body with random sets and contacts between them, and the same problem
// with the sets' stiffness in A.
struct Strewn {
  explicit Strewn(double compliance) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    constexpr int kSize = 24;
    const double h = problem.h = sets.h = 0.01;
    system.num_velocities = kSize;
    A = MatrixXd::Zero(kSize, kSize);
    for (int b = 0; b < 6; ++b) {
      masses[b] = (0.5 + 0.1 * b) * MatrixXd::Identity(3, 3);
      A.block<3, 3>(3 * b, 3 * b) = masses[b];
      AddParticle(3 * b, masses[b].data(), &system);
    }
    masses[6] = MatrixXd::Identity(6, 6);
    masses[6].topLeftCorner<3, 3>() << 0.3, 0.1, 0, 0.1, 0.4, 0.05, 0, 0.05, 0.5;
    A.block<6, 6>(18, 18) = masses[6];
    system.blocks.push_back({18, 6, std::span<const double>(masses[6].data(), 36)});
    for (int i = 0; i < kSize; ++i) system.v_star.push_back(uniform(random));

    VectorXd v_star = VectorXd::Map(system.v_star.data(), kSize);
    MatrixXd A_whole = A;
    VectorXd momentum = A * v_star;
    for (const SetColumns& columns :
         {SetColumns{0, 3, 6, 9}, SetColumns{9, 12, 15, -1}, SetColumns{18, 21, 3, 15}}) {
      sets.columns.push_back(columns);
      SetJacobian J;
      for (int i = 0; i < 72; ++i) J.data()[i] = uniform(random);
      if (columns[3] < 0) J.rightCols<3>().setZero();
      SetCompliance B;
      for (int i = 0; i < 36; ++i) B.data()[i] = uniform(random);
      sets.jacobians.push_back(J);
      sets.compliances.push_back(compliance * (B * B.transpose() + SetCompliance::Identity()));
      sets.offsets.push_back(0.003 * B.col(0));
      MatrixXd wide = MatrixXd::Zero(6, kSize);
      for (int part = 0; part < 4; ++part)
        if (columns[part] >= 0) wide.middleCols<3>(columns[part]) = J.middleCols<3>(3 * part);
      const MatrixXd K = h * h * wide.transpose() * sets.compliances.back().inverse();
      A_whole += K * wide;
      momentum -= K / h * sets.offsets.back();
    }
    problem.sets = sets.columns;
    problem.set_rows = &sets;
    for (int c = 0; c < 3; ++c) {
      NonsmoothProblem::Contact contact;
      contact.gap = -0.002;
      contact.friction = 0.4;
      problem.contacts.push_back(contact);
      ConstraintSystem::Contact rows;
      rows.first_entry = static_cast<int>(system.entries.size());
      MatrixXd J = MatrixXd::Zero(3, kSize);
      for (const auto& [block, columns] : {std::pair{2 * c, 3}, std::pair{6, 6}}) {
        system.entries.push_back({block, 0, columns, system.values.size()});
        ++rows.num_entries;
        for (int i = 0; i < 3 * columns; ++i) {
          system.values.push_back(uniform(random));
          J(i % 3, 3 * block + i / 3) = system.values.back();
        }
      }
      rows.W = J * A.ldlt().solve(J.transpose());
      system.contacts.push_back(rows);
    }
    NonsmoothProblem::Row stop;
    stop.gap = -0.001;
    stop.lower = 0;
    problem.rows.push_back(stop);
    system.rows.push_back({static_cast<int>(system.entries.size()), 1, 0, 1 / 0.6});
    system.entries.push_back({1, 0, 1, system.values.size()});
    system.values.push_back(1);

    // the same with one block, and the sets' stiffness in its matrix
    stiffness = A_whole;
    reduced = problem;
    reduced.sets.clear();
    reduced.set_rows = nullptr;
    reduced_system = system;
    reduced_system.blocks = {
        {0, kSize, std::span<const double>(stiffness.data(), stiffness.size())}};
    reduced_system.masses.clear();
    for (ConstraintSystem::Entry& entry : reduced_system.entries) {
      entry.first += system.blocks[entry.block].first;
      entry.block = 0;
    }
    const VectorXd free = stiffness.ldlt().solve(momentum);
    reduced_system.v_star.assign(free.data(), free.data() + kSize);
    problem.island = whole.emplace(system).view();
    reduced.island = reduced_whole.emplace(reduced_system).view();
  }

  static NonsmoothResult Solve(const NonsmoothProblem& problem, const NonsmoothOptions& options) {
    NonsmoothNewton solver;
    NonsmoothResult result;
    EXPECT_TRUE(solver.Solve(problem, std::vector<Vector3d>(3, Vector3d::Zero()),
                             std::vector<double>(1, 0.0), options, &result));
    return result;
  }

  LinearSets sets;
  MatrixXd masses[7], A, stiffness;
  ConstraintSystem system, reduced_system;
  std::optional<WholeIsland> whole, reduced_whole;
  NonsmoothProblem problem, reduced;
};

NonsmoothOptions Exact() {
  NonsmoothOptions options;
  options.newton_iterations = 2000;
  options.linear_iterations = 400;
  options.tolerance = 1e-12;
  return options;
}

// Newton's iterations stop at constraint errors of 1e-12 m, which is 1e-10 m/s.
constexpr double kSame = 1e-9;

TEST(RowSets, AreWhatTheirStiffnessIsInTheMassMatrix) {
  const Strewn s(1e-4);
  const NonsmoothResult reduced = Strewn::Solve(s.reduced, Exact());
  ASSERT_TRUE(reduced.converged);
  int touching = 0;
  for (const Vector3d& force : reduced.contact_forces) touching += force.z() > 1e-3;
  ASSERT_GE(touching, 2);
  for (const LinearSolver solver : {LinearSolver::kConjugateResidual,
                                    LinearSolver::kConjugateGradient, LinearSolver::kDirect}) {
    NonsmoothOptions options = Exact();
    options.linear_solver = solver;
    const NonsmoothResult whole = Strewn::Solve(s.problem, options);
    ASSERT_TRUE(whole.converged) << testing::PrintToString(whole.residuals);
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(whole.v[i], reduced.v[i], kSame) << i;
  }
}

TEST(RowSets, MayBeSolvedByRelaxation) {
  const Strewn s(1e-3);
  const NonsmoothResult reduced = Strewn::Solve(s.reduced, Exact());
  for (const LinearSolver solver : {LinearSolver::kJacobi, LinearSolver::kGaussSeidel}) {
    NonsmoothOptions options = Exact();
    options.linear_solver = solver;
    options.linear_iterations = 3000;
    options.tolerance = 1e-10;
    const NonsmoothResult whole = Strewn::Solve(s.problem, options);
    ASSERT_TRUE(whole.converged) << testing::PrintToString(whole.residuals);
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(whole.v[i], reduced.v[i], 1e-7) << i;
  }
}

TEST(RowSets, AlphaOnBothSidesLeadsToTheSameSolution) {
  const Strewn s(1e-4);
  const NonsmoothResult reduced = Strewn::Solve(s.reduced, Exact());
  for (const NonsmoothProblem* problem : {&s.problem, &s.reduced}) {
    NonsmoothOptions options = Exact();
    options.normal_scaling = NonsmoothOptions::NormalScaling::kBothSides;
    const NonsmoothResult result = Strewn::Solve(*problem, options);
    ASSERT_TRUE(result.converged) << testing::PrintToString(result.residuals);
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(result.v[i], reduced.v[i], kSame) << i;
  }
}

TEST(RowSets, WithoutComplianceHoldWhereverTheyAreRedundant) {
  Strewn s(0);
  // with one set given twice, forces are no longer unique, but the motion is
  s.sets.columns.push_back(s.sets.columns[0]);
  s.sets.jacobians.push_back(s.sets.jacobians[0]);
  s.sets.compliances.push_back(s.sets.compliances[0]);
  s.sets.offsets.push_back(s.sets.offsets[0]);
  const NonsmoothResult once = Strewn::Solve(s.problem, Exact());
  s.problem.sets = s.sets.columns;
  const NonsmoothResult twice = Strewn::Solve(s.problem, Exact());
  ASSERT_TRUE(once.converged) << testing::PrintToString(once.residuals);
  ASSERT_TRUE(twice.converged) << testing::PrintToString(twice.residuals);
  for (int i = 0; i < 24; ++i) EXPECT_NEAR(once.v[i], twice.v[i], 1e-8) << i;
}

TEST(RowSets, ThatContradictEachOtherAreToldByTheResidual) {
  Strewn s(0);
  s.sets.columns.push_back(s.sets.columns[0]);
  s.sets.jacobians.push_back(s.sets.jacobians[0]);
  s.sets.compliances.push_back(s.sets.compliances[0]);
  s.sets.offsets.push_back(s.sets.offsets[0] + SetForces::Constant(0.01));
  s.problem.sets = s.sets.columns;
  NonsmoothOptions options;
  const NonsmoothResult result = Strewn::Solve(s.problem, options);
  EXPECT_FALSE(result.converged);
  EXPECT_GE(result.residual, 0.004);
  for (const double v : result.v) EXPECT_TRUE(std::isfinite(v));
}

// A chain of light particles between two heavy ones, stretched to three times its length, so that J
// changes with the motion.
class Chain final : public RowSets {
 public:
  static constexpr int kLinks = 6;
  bool Evaluate(std::span<const double> v, std::span<const double> lambda, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    std::fill(J.begin(), J.end(), 0.0);
    std::fill(E.begin(), E.end(), 0.0);
    for (int k = 0; k < kLinks; ++k) {
      const Vector3d offset =
          Vector3d(3, 0, 0) + h * (Vector3d::Map(&v[3 * k + 3]) - Vector3d::Map(&v[3 * k]));
      const double length = offset.norm();
      for (int r = 0; r < 3; ++r) {
        J[72 * k + r] = -offset[r] / length;
        J[72 * k + 3 + r] = offset[r] / length;
      }
      for (int r = 0; r < 6; ++r) {
        E[36 * k + 7 * r] = r == 0 ? compliance : 1;
        error[6 * k + r] = E[36 * k + 7 * r] * lambda[6 * k + r];
      }
      error[6 * k] += length - 1;
    }
    return true;
  }
  double h = 0.01, compliance = 1e-2;
};

NonsmoothResult PluckChain(bool geometric_stiffness, Chain* chain) {
  NonsmoothProblem problem;
  problem.h = chain->h;
  ConstraintSystem system;
  system.num_velocities = 3 * (Chain::kLinks + 1);
  const Eigen::Matrix3d light = 0.01 * Eigen::Matrix3d::Identity(), heavy = 1e8 * light;
  for (int i = 0; i <= Chain::kLinks; ++i) {
    const bool is_end = i == 0 || i == Chain::kLinks;
    AddParticle(3 * i, is_end ? heavy.data() : light.data(), &system);
    for (const double v : {0.3, 8.0, -3.0}) system.v_star.push_back(is_end ? 0 : (i % 3 - 1) * v);
  }
  for (int k = 0; k < Chain::kLinks; ++k) problem.sets.push_back({3 * k, 3 * k + 3, -1, -1});
  problem.set_rows = chain;
  const WholeIsland whole(system);
  problem.island = whole.view();
  NonsmoothOptions options;
  options.newton_iterations = 300;
  options.tolerance = 1e-11;
  options.geometric_stiffness = geometric_stiffness;
  NonsmoothNewton solver;
  NonsmoothResult result;
  EXPECT_TRUE(solver.Solve(problem, {}, {}, options, &result));
  return result;
}

TEST(RowSets, GeometricStiffnessChangesTheWayAndNotTheMotion) {
  Chain chain;
  const NonsmoothResult with = PluckChain(true, &chain);
  ASSERT_TRUE(with.converged) << testing::PrintToString(with.residuals);

  const NonsmoothResult without = PluckChain(false, &chain);
  // macklin2019 figure 12: without geometric stiffness, transverse motion overshoots from side to
  // side
  ASSERT_TRUE(without.converged) << testing::PrintToString(without.residuals);
  EXPECT_GT(without.iterations, 2 * with.iterations);
  for (int i = 0; i < 3 * Chain::kLinks; ++i) EXPECT_NEAR(with.v[i], without.v[i], 1e-8);
}

TEST(RowSets, ThatAreNotFiniteAreAnErrorAndNoResult) {
  Strewn s(1e-4);
  s.sets.offsets[1][2] = std::numeric_limits<double>::quiet_NaN();
  NonsmoothNewton solver;
  NonsmoothResult result;
  EXPECT_FALSE(solver.Solve(s.problem, std::vector<Vector3d>(3, Vector3d::Zero()),
                            std::vector<double>(1, 0.0), Exact(), &result));
}

}  // namespace
}  // namespace pliant::solvers
