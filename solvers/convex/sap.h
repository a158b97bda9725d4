#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/convex/contact_law.h"
#include "solvers/convex/momentum_term.h"
#include "solvers/linalg/block_matrix.h"
#include "solvers/problem/stop_reason.h"

namespace pliant::solvers {

// min over v of ½‖v − v*‖²_A − pᵀ(v − v*) + Σ φ(v) + Σ ½ γᵀRγ with the impulses γ(v) of regularised
// contacts (han2023 (17); SAP) and convex terms φ of blocks that have one. Without p and φ, v* is
// the free motion; with p any v* will do for which A (v − v*) − p is the momentum balance.
//
// A is block-diagonal with dense or sparse blocks; contact rows couple blocks. All references must
// outlive the solve.
struct ConvexProblem {
  struct Block {
    int first;  // its first velocity
    int size;
    const double* A;                      // size × size, column-major, both triangles
    const BlockMatrix* sparse = nullptr;  // in its place, of nodes of three velocities
    std::span<const int> order = {};      // in which those are best eliminated
    const MomentumTerm* term = nullptr;   // φ; none of a block whose momentum is linear
  };
  // Rows of one contact on consecutive velocities: v_c += values (3 × columns, column-major) ·
  // v[first …].
  struct Entry {
    int first;
    int columns;
    std::size_t values;  // offset in `values`
  };
  struct Contact {
    Eigen::Vector3d R;      // (R_t, R_t, R_n) [s/kg]
    Eigen::Vector3d v_hat;  // stabilisation velocity [m/s]
    Eigen::Vector3d bias;   // prescribed part of v_c [m/s]
    double friction;
    int first_entry, num_entries;
    // for a `law`: slip speed below which contacts stick [m/s], and n₀ [N·s]; v_hat has no
    // tangential part then
    double slip = 0, lagged = 0;
    // what it exerts if it goes on as in the step before [N·s]; zero of one that nothing is known
    // of
    Eigen::Vector3d expected = Eigen::Vector3d::Zero();
  };
  // A scalar constraint: γ = clamp((v̂ − r)/R, lower, upper) at the rate r = J v + b. Limits,
  // couplers, drives and dry friction are such rows; entries have one value a column.
  struct Row {
    double R;             // [s/kg], > 0
    double v_hat;         // [m/s]
    double bias;          // [m/s]
    double lower, upper;  // [N·s]
    int first_entry, num_entries;
  };
  const ContactLaw* law = nullptr;  // in place of the friction cone
  int size = 0;                     // velocities
  std::vector<Block> blocks;
  std::vector<Contact> contacts;
  std::vector<Row> rows;
  std::vector<Entry> entries;
  std::span<const double> values;  // of all entries; somebody else's
  std::vector<double> v_star;
  std::vector<double> push;  // p [N·s]; empty: none

  // v_c = J v + b of a contact.
  Eigen::Vector3d ContactVelocity(int contact, std::span<const double> v) const;
  // impulse += J_cᵀ γ.
  void AddContactImpulse(int contact, const Eigen::Vector3d& gamma,
                         std::span<double> impulse) const;
  // The same of a scalar row.
  double RowRate(int row, std::span<const double> v) const;
  void AddRowImpulse(int row, double gamma, std::span<double> impulse) const;

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

// One problem, once.
SapResult SolveSap(const ConvexProblem& problem, std::span<const double> guess,
                   const SapOptions& options);

}  // namespace pliant::solvers
