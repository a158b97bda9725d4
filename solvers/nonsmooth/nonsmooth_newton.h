#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/nonsmooth/cone_newton.h"
#include "solvers/nonsmooth/linear_solvers.h"
#include "solvers/nonsmooth/ncp.h"

namespace pliant::solvers {

// Contacts and scalar constraints over one step of length h, on velocities v with A (v − v*) = h Jᵀ λ. A is block-diagonal.
//
// Contact, in its frame with the normal last, rate u = J v + bias and force λ:
//   0 ≤ gap + h u_n + compliance λ_n ⊥ λ_n ≥ 0;   u_t opposite to λ_t, ‖λ_t‖ ≤ μ λ_n, equal where it slips.
// Row: the same for C = gap + h (J v + bias) + compliance λ within [lower, upper]: C = 0 inside, C ≥ 0 at lower, C ≤ 0 at
// upper.
struct NonsmoothProblem {
  struct Block {
    int first;  // velocity
    int size;
    const double* A;  // size × size, both triangles; positive definite
  };
  // Columns of one contact's rows (3 × columns, column-major) or one row's (1 × columns), within one block.
  struct Entry {
    int block;
    int first;  // velocity
    int columns;
    std::size_t values;
  };
  struct Contact {
    double gap = 0;         // [m]
    double compliance = 0;  // [m/N]
    double friction = 0;
    Eigen::Vector3d bias = Eigen::Vector3d::Zero();  // [m/s]
    Eigen::Matrix3d W;                               // estimate of J A⁻¹ Jᵀ [1/kg]
    int first_entry = 0, num_entries = 0;
  };
  struct Row {
    double gap = 0;
    double compliance = 0;
    double lower = -std::numeric_limits<double>::infinity();  // [N]
    double upper = std::numeric_limits<double>::infinity();
    double bias = 0;
    double W = 0;
    int first_entry = 0, num_entries = 0;
  };

  double h = 0;  // [s]
  int size = 0;  // velocities
  std::vector<double> v_star;
  std::vector<Block> blocks;
  std::vector<Contact> contacts;
  std::vector<Row> rows;
  std::vector<Entry> entries;
  std::span<const double> values;  // of all entries; somebody else's

  void Clear();
};

struct NonsmoothOptions {
  // What r is of a row: h² W_nn and h W_tt (macklin2019 §6.3), h² and h, or 1.
  enum class Preconditioner { kEffectiveMass, kTimeStep, kIdentity };
  // What finds friction: the fixed point of macklin2019 alone; Newton's method on the whole cone alone; or that where the
  // fixed point does not arrive.
  enum class Friction { kFixedPoint, kCone, kFixedPointThenCone };
  NcpFunction ncp = NcpFunction::kFischerBurmeister;
  Preconditioner preconditioner = Preconditioner::kEffectiveMass;
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
  bool converged = false;
  bool cycled = false;  // the residual fell no more
  int iterations = 0;
  int cone_iterations = 0;    // of Newton's method on the cones, after those
  int linear_iterations = 0;  // in all
  // Largest of |C − …| over all rows: by how far a unit step of projection would move it [m], by the true diagonal scale,
  // whatever the preconditioner is. After each iteration, the start first.
  std::vector<double> residuals;
  double residual = 0;                   // of the result
  std::vector<double> linear_residuals;  // of the last linear system, after each iteration
};

// Non-smooth Newton method on the forces (macklin2019 §6): each row's function is linearised, with friction's as a fixed
// point, and Δλ solves [J A⁻¹ Jᵀ + C] Δλ = b; v follows from λ exactly. Normal rows are divided by their α, which leaves J
// as it is and makes the system symmetric.
//
// Keeps its memory from one call to the next; allocates where a problem is larger than those before.
class NonsmoothNewton final : private LinearOperator {
 public:
  // `contact_guess`, `row_guess`: forces to start from. False when a block is not positive definite, or forces are not
  // finite.
  bool Solve(const NonsmoothProblem& problem, std::span<const Eigen::Vector3d> contact_guess,
             std::span<const double> row_guess, const NonsmoothOptions& options,
             NonsmoothResult* result);

 private:
  // Of one scalar unknown, by its place: three of each contact, then the rows.
  struct Scale {
    double normal = 0;    // r of normal rows and of bounds [m/N]
    double friction = 0;  // r of friction and of rows within finite bounds [m/(s N)]
  };

  int size() const override { return num_unknowns_; }
  void Multiply(std::span<const double> x, std::span<double> y) const override;
  std::span<const double> diagonal() const override { return diagonal_; }
  std::span<const double> Assemble() override;

  bool Prepare(const NonsmoothOptions& options);
  void ChooseScales(const NonsmoothOptions& options);
  // z ← Jᵀ x, z ← A⁻¹ z, y ← J z
  void MultiplyTransposed(std::span<const double> x, std::span<double> z) const;
  void SolveBlocks(std::span<double> z) const;
  void MultiplyRows(std::span<const double> z, std::span<double> y) const;
  void CalcRates();       // of rates_ from lambda_
  void ProjectForces();   // onto cones and bounds
  double CalcResidual();  // the natural map's
  void Linearise(const NonsmoothOptions& options);
  void LineariseRow(int k, int i, const NonsmoothOptions& options);
  void SolveOnCones(const NonsmoothOptions& options, NonsmoothResult* result);

  const NonsmoothProblem* problem_ = nullptr;
  int num_unknowns_ = 0;
  std::vector<double> factors_;         // Cholesky factors of the blocks
  std::vector<std::size_t> factor_of_;  // by block
  std::vector<double> diagonal_, compliance_, rhs_, lambda_, best_, change_, rates_, free_rates_;
  std::vector<Scale> scales_, natural_scales_;
  mutable std::vector<double> scratch_;
  std::vector<double> matrix_, columns_;
  std::vector<int> block_rows_;
  bool assembled_ = false;
  LinearSystemSolver linear_;
  ConeNewton cone_;
};

}  // namespace pliant::solvers
