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
  kJacobi,             // damped by the number of unknowns coupled by a row
  kGaussSeidel,
  kDirect,  // Cholesky factor, sparse where the matrix is
};

// A positive semi-definite matrix B, given by its product.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;
  virtual int size() const = 0;
  // y ← B x
  virtual void Multiply(std::span<const double> x, std::span<double> y) const = 0;
  // an estimate of the diagonal of B, for preconditioning
  virtual std::span<const double> diagonal() const = 0;
  // B as a matrix; called only by solvers that need its entries
  virtual const SparseMatrix& Assemble() = 0;
};

struct LinearOptions {
  LinearSolver solver = LinearSolver::kConjugateResidual;
  int max_iterations = 50;
  double relative_tolerance = 0;  // ‖b − (B + D) x‖ / ‖b‖, weighted by 1/√(diagonal)
};

// Solves from x = 0. Keeps its memory from one call to the next. `residuals` holds the relative
// residual after each iteration; the direct solver has one. False when B + D is not positive
// definite to rounding; x is then the last iterate, and finite.
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

  // Records the weighted norm of the residual relative to that of b; true when the tolerance is
  // met.
  bool Note(const LinearOptions& options);
  bool Note(const LinearOptions& options, double square);  // `square` of the norm
  double WeightedNorm(std::span<const double> r) const;

  std::vector<double> residuals_;
  std::vector<double> inverse_;  // of the diagonal
  SparseCholesky sparse_;
  std::vector<double> r_, z_, p_, q_, Az_, Ap_, factor_;
  double scale_ = 0;  // ‖b‖
};

}  // namespace pliant::solvers
