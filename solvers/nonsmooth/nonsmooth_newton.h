#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/nonsmooth/assembled_product.h"
#include "solvers/nonsmooth/block_masses.h"
#include "solvers/nonsmooth/cone_newton.h"
#include "solvers/nonsmooth/linear_solvers.h"
#include "solvers/nonsmooth/ncp.h"
#include "solvers/nonsmooth/packed_rows.h"
#include "solvers/nonsmooth/row_sets.h"
#include "solvers/problem/island_view.h"
#include "solvers/problem/stop_reason.h"

namespace pliant::solvers {

// Contacts and scalar constraints of an island over one step of length h, in velocities v:
//   A (v − v*) = h Jᵀ λ.
// A is block-diagonal and dense; A, v*, J, b and the estimates W of J A⁻¹ Jᵀ are the island's.
//
// Contact, in its frame with the normal last, rate u = J v + b and force λ:
//   0 ≤ gap + h u_n + compliance λ_n ⊥ λ_n ≥ 0;
//   u_t opposite to λ_t, ‖λ_t‖ ≤ μ λ_n, equal where it slips.
// Row: complementarity of C = gap + h (J v + b) + compliance λ with λ in [lower, upper]: C = 0
// inside, C ≥ 0 at lower, C ≤ 0 at upper. Sets: rows whose J changes with v, error(v, λ) = 0 at the
// solution (see RowSets).
struct NonsmoothProblem {
  struct Contact {
    double gap = 0;         // [m]
    double compliance = 0;  // [m/N]
    double friction = 0;
  };
  struct Row {
    double gap = 0;
    double compliance = 0;
    double lower = -std::numeric_limits<double>::infinity();  // [N]
    double upper = std::numeric_limits<double>::infinity();
  };

  int size() const { return island.num_velocities; }

  double h = 0;  // [s]
  IslandView island;
  std::vector<Contact> contacts;  // the island's contacts and rows, in their order
  std::vector<Row> rows;
  std::vector<SetColumns> sets;
  RowSets* set_rows = nullptr;  // the rows of the sets; not owned

  void Clear();
};

struct NonsmoothOptions {
  // Scale r of the normal and friction rows: h² W_nn and h W_tt (macklin2019 §6.3), h² and h, or 1.
  enum class Preconditioner { kEffectiveMass, kTimeStep, kIdentity };
  // Friction solver: the fixed point of macklin2019, Newton's method on the exact cone, or the
  // latter only when the fixed point does not converge.
  enum class Friction { kFixedPoint, kCone, kFixedPointThenCone };
  // Treatment of α = ∂φ/∂C of a normal row: the row is divided by α, or α multiplies J on both
  // sides as in macklin2019 (29), (44).
  enum class NormalScaling { kDivided, kBothSides };
  NcpFunction ncp = NcpFunction::kFischerBurmeister;
  Preconditioner preconditioner = Preconditioner::kEffectiveMass;
  NormalScaling normal_scaling = NormalScaling::kDivided;
  // Diagonal approximation of the change of the sets' J with respect to particles, from the last
  // two iterates (macklin2019 §8.3).
  bool geometric_stiffness = true;
  LinearSolver linear_solver = LinearSolver::kConjugateResidual;
  Friction friction = Friction::kFixedPointThenCone;
  int newton_iterations = 20;
  int linear_iterations = 100;
  double step_length = 0.75;  // of a Newton step, until the residual has halved
  double tolerance = 1e-9;    // of the natural map [m]
};

struct NonsmoothResult {
  std::vector<double> v;
  std::vector<Eigen::Vector3d> contact_forces;  // in contact frames, within the cone [N]
  std::vector<double> row_forces;               // within the bounds [N]
  std::vector<double> set_forces;
  bool converged = false;
  bool cycled = false;  // the residual stopped decreasing
  StopReason reason = StopReason::kConverged;
  int iterations = 0;
  int cone_iterations = 0;    // of Newton's method on the cones, after `iterations`
  int linear_iterations = 0;  // in all
  // Residual of the start, then after each iteration: the largest over all rows of the distance
  // that a unit step of projection would move the row [m], by the true diagonal scale for every
  // preconditioner; of sets their error, and h times the momentum residual.
  std::vector<double> residuals;
  double residual = 0;                   // of the result
  std::vector<double> linear_residuals;  // of the last linear system, after each iteration
};

// Non-smooth Newton method on the forces (macklin2019 §6): each row's function is linearised,
// friction's as a fixed point, and Δλ solves [J H⁻¹ Jᵀ + C] Δλ = b. With constant J, v follows from
// λ exactly, and H = A. With sets, or α on both sides, v and λ are both unknowns, and Δv = H⁻¹ (h
// Jᵀ Δλ − g) with the momentum residual g.
//
// Keeps its memory from one call to the next; allocates only when a problem is larger than before.
class NonsmoothNewton final : private LinearOperator {
 public:
  // `contact_guess`, `row_guess`: initial forces. False when a block is not positive definite, or
  // forces are not finite.
  bool Solve(const NonsmoothProblem& problem, std::span<const Eigen::Vector3d> contact_guess,
             std::span<const double> row_guess, const NonsmoothOptions& options,
             NonsmoothResult* result);

 private:
  // Scales of one scalar unknown. Unknowns are three per contact, then the rows.
  struct Scale {
    double normal = 0;    // r of normal rows and of bounds [m/N]
    double friction = 0;  // r of friction and of rows within finite bounds [m/(s N)]
  };

  int size() const override { return num_unknowns_; }
  void Multiply(std::span<const double> x, std::span<double> y) const override;
  std::span<const double> diagonal() const override { return diagonal_; }
  const SparseMatrix& Assemble() override;

  // A velocity that a contact acts on: its part of the masses, its place there, and the column of
  // the contact's three rows of J.
  struct Column {
    int part, place;
    std::array<double, 3> J;
  };

  bool Prepare(const NonsmoothOptions& options);
  void MeasureWithinParts();
  void ChooseScales(const NonsmoothOptions& options);
  // z ← Jᵀ x with α where rows are scaled by it, y ← J z without α
  void MultiplyTransposed(std::span<const double> x, std::span<double> z) const;
  void MultiplyRows(std::span<const double> z, std::span<double> y) const;
  void ScaleRows(std::span<double> y) const;
  // Evaluates rates_ and the sets from lambda_, and from v_ if it is an unknown. False when
  // something is not finite.
  bool EvaluateIterate(const NonsmoothOptions& options);
  void CalcVelocities(std::span<double> v) const;
  void CalcDiagonal();
  // Whether Newton's method on the cones is likely to be faster than the fixed point.
  bool PrefersCones() const;
  // Whether any force changes the rate of row i.
  bool HasCompliance(std::size_t i) const;
  void Move(double step, const NonsmoothOptions& options);
  void AddGeometricStiffness();
  void ProjectForces();   // onto cones and bounds
  double CalcResidual();  // of the natural map
  void Linearise(const NonsmoothOptions& options);
  void LineariseRow(int k, int i, const NonsmoothOptions& options);
  void SolveOnCones(const NonsmoothOptions& options, NonsmoothResult* result);
  std::size_t first_set() const { return 3 * problem_->contacts.size() + problem_->rows.size(); }

  const NonsmoothProblem* problem_ = nullptr;
  int num_unknowns_ = 0;
  bool is_explicit_ = false;  // v is an unknown beside λ
  BlockMasses masses_;
  PackedRows packed_;  // of contacts and rows
  std::vector<double> diagonal_, compliance_, rhs_, lambda_, best_, projected_, change_, rates_,
      free_rates_;
  std::vector<Scale> scales_, natural_scales_;
  mutable std::vector<double> scratch_, scaled_;
  std::vector<double>
      row_scale_;  // α of normal rows, 1 of others; empty where rows are divided by it
  std::vector<double> J_, E_, error_;  // of the sets
  std::vector<double> start_;          // initial forces of SolveOnCones
  std::vector<double> v_star_, v_, dv_, g_, best_v_, before_, change_v_, shift_, mass_diagonal_;
  std::vector<int> part_of_;  // of the masses, by velocity
  std::vector<Column> columns_;
  AssembledProduct product_;
  SparseMatrix matrix_;
  bool is_assembled_ = false;
  LinearSystemSolver linear_;
  ConeNewton cone_;
};

}  // namespace pliant::solvers
