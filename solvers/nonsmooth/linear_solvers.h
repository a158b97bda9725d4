#pragma once

#include <span>
#include <vector>

#include "solvers/nonsmooth/sparse_cholesky.h"

namespace pliant::solvers {

// Solvers of the symmetric system (B + D) x = b of one Newton iteration, with D diagonal
// (macklin2019 §8).
enum class LinearSolver {
  kConjugateResidual,  // preconditioned by the diagonal
  kConjugateGradient,  // preconditioned by the diagonal
  kJacobi,             // relaxed by the number of unknowns that a row couples with
  kGaussSeidel,
  kDirect,  // Cholesky factor, sparse where the matrix is
};

// B as a product; positive semi-definite.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;
  virtual int size() const = 0;
  // y ← B x
  virtual void Multiply(std::span<const double> x, std::span<double> y) const = 0;
  // an estimate of the diagonal of B, for preconditioning
  virtual std::span<const double> diagonal() const = 0;
  // B itself: only the solvers that look at entries ask for it
  virtual const SparseMatrix& Assemble() = 0;
};

struct LinearOptions {
  LinearSolver solver = LinearSolver::kConjugateResidual;
  int max_iterations = 50;
  double relative_tolerance = 0;  // of ‖b − (B + D) x‖ against ‖b‖, both by 1/√(diagonal)
};

// Solves from x = 0, and keeps its memory from one call to the next. `residuals` has the relative
// residual after each iteration; the direct solver has one. False when B + D is not positive
// definite to rounding: x is then what was found before, and finite.
class LinearSystemSolver {
 public:
  bool Solve(LinearOperator& B, std::span<const double> D, std::span<const double> b,
             const LinearOptions& options, std::span<double> x);
  const std::vector<double>& residuals() const { return residuals_; }

 private:
  bool SolveConjugateResidual(const LinearOperator& B, std::span<const double> D,
                              const LinearOptions& options, std::span<double> x);
  bool SolveConjugateGradient(const LinearOperator& B, std::span<const double> D,
                              const LinearOptions& options, std::span<double> x);
  bool SolveJacobi(LinearOperator& B, std::span<const double> D, const LinearOptions& options,
                   std::span<double> x);
  bool SolveGaussSeidel(LinearOperator& B, std::span<const double> D, std::span<const double> b,
                        const LinearOptions& options, std::span<double> x);
  bool SolveDirect(LinearOperator& B, std::span<const double> D, std::span<const double> b,
                   std::span<double> x);

  // Weighted norm of the residual against that of b; true when the tolerance is met.
  bool Note(const LinearOptions& options);
  bool Note(const LinearOptions& options, double square);  // of that norm
  double WeightedNorm(std::span<const double> r) const;

  std::vector<double> residuals_;
  std::vector<double> inverse_;  // of the diagonal
  SparseCholesky sparse_;
  std::vector<double> r_, z_, p_, q_, Az_, Ap_, factor_;
  double scale_ = 0;  // ‖b‖
};

}  // namespace pliant::solvers
