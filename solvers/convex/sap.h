#pragma once

#include <memory>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/convex/contact_law.h"
#include "solvers/convex/momentum_term.h"
#include "solvers/problem/island_view.h"
#include "solvers/problem/stop_reason.h"

namespace pliant::solvers {

// The convex problem of one step:
//   min over v of ½‖v − v*‖²_A − pᵀ(v − v*) + Σ φ(v) + Σ ½ γᵀRγ,
// with the impulses γ(v) of regularised contacts (han2023 (17); SAP) and convex potentials φ of
// some blocks. Without p and φ, v* is the free motion. With p, v* is any velocity for which the
// momentum balance is A (v − v*) − p.
//
// A, v*, p, J and b are the island's. Its blocks are dense or sparse matrices, not in compliance
// form. All references must outlive the solve.
struct ConvexProblem {
  struct Contact {
    Eigen::Vector3d R;      // (R_t, R_t, R_n) [1/kg]
    Eigen::Vector3d v_hat;  // stabilisation velocity [m/s]
    double friction;
    // for a `law`: slip speed below which contacts stick [m/s], and n₀ [N·s]; v_hat then has no
    // tangential part
    double slip = 0, lagged = 0;
    // impulse predicted from the step before [N·s]; zero: none
    Eigen::Vector3d expected = Eigen::Vector3d::Zero();
    double expected_slip = 0;  // speed, used with a rough guess [m/s]
  };
  // A scalar constraint: γ = clamp((v̂ − r)/R, lower, upper) at the rate r = J v + b. Limits,
  // couplers, drives and dry friction are such rows.
  struct Row {
    double R;             // [1/kg], > 0
    double v_hat;         // [m/s]
    double lower, upper;  // [N·s]
  };

  int size() const { return island.num_velocities; }

  IslandView island;
  const ContactLaw* law = nullptr;  // in place of the friction cone
  std::vector<Contact> contacts;    // the island's contacts and rows, in their order
  std::vector<Row> rows;
  // φ of each block of the island, null where momentum is linear; empty: linear everywhere
  std::vector<MomentumTerm*> terms;
  // The guess is interpolated from velocities of the step before, not its solution: expected
  // impulses and slips predict the modes of contacts better.
  bool has_rough_guess = false;

  void Clear();  // keeps the memory
};

struct SapOptions {
  enum class LineSearch { kExact, kBacktracking };
  double relative_tolerance = 1e-6;  // ε_r
  double absolute_tolerance = 1e-14;
  int max_iterations = 100;
  LineSearch line_search = LineSearch::kExact;
};

struct SapResult {
  bool converged = false;
  bool stalled = false;  // neither cost nor gradient decreases further in double precision
  StopReason reason = StopReason::kConverged;
  int iterations = 0;
  int factorisations = 0;
  int linear_iterations = 0;  // products by H of conjugate gradients, in total
  // ‖D∇ℓ‖ / max(‖D A v‖, ‖D ∇φ‖, ‖D Jᵀγ‖), D = diag(A + ∇²φ at the guess)^(−1/2)
  double residual = 0;
  std::vector<double> v;
  std::vector<Eigen::Vector3d> gamma;  // of contacts
  std::vector<double> row_gamma;
  std::vector<double> costs;  // ℓ at the start and after each iteration
  std::vector<double> residuals;
};

// Newton's method with line search. Keeps its buffers: a second problem of the same size allocates
// nothing.
class SapSolver {
 public:
  SapSolver();
  ~SapSolver();
  SapSolver(SapSolver&&) noexcept;

  // Starts at v = guess.
  void Solve(const ConvexProblem& problem, std::span<const double> guess, const SapOptions& options,
             SapResult* result);

  // Solves the last problem again, from its solution, after the stabilisation velocities of its
  // contacts have changed.
  void SolveAgain(const SapOptions& options, SapResult* result);

  // The same after R and expected impulses of its contacts have changed.
  void SolveRegularised(const SapOptions& options, SapResult* result);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace pliant::solvers
