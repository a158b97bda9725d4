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

// min over v of ½‖v − v*‖²_A − pᵀ(v − v*) + Σ φ(v) + Σ ½ γᵀRγ with the impulses γ(v) of regularised
// contacts (han2023 (17); SAP) and convex terms φ of blocks that have one. Without p and φ, v* is
// the free motion; with p any v* will do for which A (v − v*) − p is the momentum balance.
//
// A, v*, p, J and b are those of an island, whose blocks are matrices, dense or sparse. All
// references must outlive the solve.
struct ConvexProblem {
  struct Contact {
    Eigen::Vector3d R;      // (R_t, R_t, R_n) [s/kg]
    Eigen::Vector3d v_hat;  // stabilisation velocity [m/s]
    double friction;
    // for a `law`: slip speed below which contacts stick [m/s], and n₀ [N·s]; v_hat has no
    // tangential part then
    double slip = 0, lagged = 0;
    // the impulse if the contact goes on as in the step before [N·s]; zero where that is not known
    Eigen::Vector3d expected = Eigen::Vector3d::Zero();
  };
  // A scalar constraint: γ = clamp((v̂ − r)/R, lower, upper) at the rate r = J v + b. Limits,
  // couplers, drives and dry friction are such rows.
  struct Row {
    double R;             // [s/kg], > 0
    double v_hat;         // [m/s]
    double lower, upper;  // [N·s]
  };

  int size() const { return island.num_velocities; }

  IslandView island;
  const ContactLaw* law = nullptr;  // in place of the friction cone
  std::vector<Contact> contacts;    // of the island's contacts and rows, in their order
  std::vector<Row> rows;
  // φ of each of the island's blocks, null where the momentum is linear; empty: everywhere
  std::vector<const MomentumTerm*> terms;

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
  bool stalled = false;  // neither cost nor gradient shrink any more in double precision
  StopReason reason = StopReason::kConverged;
  int iterations = 0;
  int factorisations = 0;
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

  // From v = guess.
  void Solve(const ConvexProblem& problem, std::span<const double> guess, const SapOptions& options,
             SapResult* result);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace pliant::solvers
