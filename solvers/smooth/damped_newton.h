#pragma once

#include <memory>
#include <span>
#include <vector>

#include "solvers/linalg/lu/block_sum.h"
#include "solvers/problem/stop_reason.h"

namespace pliant::solvers {

// A smooth system of equations r(v) = 0 with a nonsymmetric Jacobian.
class SmoothSystem {
 public:
  virtual ~SmoothSystem() = default;
  virtual int size() const = 0;
  // Begins a solve: CalcJacobian is called once at each iterate from here on.
  virtual void StartSolve() {}
  // Returns false if r is not finite.
  virtual bool CalcResidual(std::span<const double> v, std::span<double> r) = 0;
  // ∂r/∂v at the v of the last CalcResidual. Within a solve it may be an approximation that tends
  // to the derivative at the solution.
  virtual void CalcJacobian(BlockSum* jacobian) = 0;
  // Rounding error of ‖D r‖ at the v of the last CalcJacobian.
  virtual double rounding() const { return 0; }
};

struct NewtonOptions {
  enum class LinearSolver {
    // larionov2023 Algorithm 1: factors of every Jacobian. Larger ones are solved by BiCGSTAB
    // preconditioned with their symmetric part where this converges fast, and else by LU
    kDirect,
    // Algorithm 2: BiCGSTAB to the forcing terms of Eisenstat and Walker, preconditioned with such
    // factors of an earlier iteration or solve
    kIterative
  };
  LinearSolver linear_solver = LinearSolver::kDirect;
  int max_iterations = 100;
  int max_linear_iterations = 1000;
  double tolerance = 1e-9;
};

struct NewtonResult {
  StopReason reason = StopReason::kConverged;
  int iterations = 0, linear_iterations = 0;
  double residual = 0;            // relative
  std::vector<double> residuals;  // at the start and after every iteration
};

// Newton's method with a backtracking line search on ‖D r‖ (larionov2023 §IV-C), which must go
// below the highest of the last few iterates rather than that of the last one (Grippo, Lampariello
// and Lucidi 1986): friction that changes its direction raises it for an iteration or two. If only
// short steps along Newton's direction do so, the Jacobian is regularised with a multiple of D⁻².
// It has converged if ‖D r‖ ≤ tolerance · scale, or is at the level of rounding. Keeps its memory
// and the analysis of the last matrix.
class DampedNewton {
 public:
  DampedNewton();
  ~DampedNewton();
  // Discards what earlier solves leave for those that follow: factors that precondition them under
  // kIterative, and which factors suffice. Results must not depend on solves before the present
  // step.
  void Forget();
  // `weights`: the diagonal of D, positive. `v`: guess, and solution.
  void Solve(SmoothSystem* system, std::span<const double> weights, double scale,
             const NewtonOptions& options, std::span<double> v, NewtonResult* result);
  // Solves J x = b. Returns false if there is no finite solution.
  bool SolveLinear(const BlockSum& jacobian, std::span<const double> b, std::span<double> x);

 private:
  struct Matrix;
  std::unique_ptr<Matrix> matrix_;
  BlockSum jacobian_;
  std::vector<double> r_, trial_, r_trial_;
};

}  // namespace pliant::solvers
