#include "solvers/nonsmooth/linear_solvers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

double InnerProduct(std::span<const double> x, std::span<const double> y) {
  return Dot(static_cast<int>(x.size()), x.data(), y.data());
}

// y ← (B + D) x
void Apply(const LinearOperator& B, std::span<const double> D, std::span<const double> x,
           std::span<double> y) {
  B.Multiply(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += D[i] * x[i];
}

// Copies the diagonal of A + D.
void CopyDiagonal(const SparseMatrix& A, std::span<const double> D, std::vector<double>* diagonal) {
  for (int i = 0; i < A.size(); ++i) {
    (*diagonal)[i] = D[i];
    for (int k = A.starts[i]; k < A.starts[i + 1]; ++k) {
      if (A.columns[k] == i) (*diagonal)[i] += A.values[k];
    }
  }
}

// x ← 0; false, for a failed factorisation
bool Reset(std::span<double> x) {
  std::fill(x.begin(), x.end(), 0.0);
  return false;
}

// Fraction of nonzero entries above which a sparse factor costs more than a dense one.
constexpr double kDense = 0.3;

}  // namespace

double LinearSystemSolver::WeightedNorm(std::span<const double> r) const {
  double sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) sum += r[i] * r[i] * inverse_[i];
  return std::sqrt(sum);
}

bool LinearSystemSolver::Note(const LinearOptions& options) {
  const double norm = WeightedNorm(r_);
  return Note(options, norm * norm);
}

bool LinearSystemSolver::Note(const LinearOptions& options, double square) {
  residuals_.push_back(scale_ > 0 ? std::sqrt(square) / scale_ : 0);
  return residuals_.back() <= options.relative_tolerance;
}

bool LinearSystemSolver::Solve(LinearOperator& B, std::span<const double> D,
                               std::span<const double> b, const LinearOptions& options,
                               std::span<double> x) {
  const std::size_t n = b.size();
  residuals_.clear();
  inverse_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = B.diagonal()[i] + D[i];
    inverse_[i] = diagonal > 0 ? 1 / diagonal : 0;
  }
  std::fill(x.begin(), x.end(), 0.0);
  r_.assign(b.begin(), b.end());
  scale_ = WeightedNorm(r_);
  if (scale_ == 0) return true;
  switch (options.solver) {
    case LinearSolver::kConjugateResidual:
      return SolveConjugateResidual(B, D, options, x);
    case LinearSolver::kConjugateGradient:
      return SolveConjugateGradient(B, D, options, x);
    case LinearSolver::kJacobi:
      return SolveJacobi(B, D, options, x);
    case LinearSolver::kGaussSeidel:
      return SolveGaussSeidel(B, D, b, options, x);
    case LinearSolver::kDirect:
      return SolveDirect(B, D, b, x);
  }
  return false;
}

bool LinearSystemSolver::SolveConjugateResidual(const LinearOperator& B, std::span<const double> D,
                                                const LinearOptions& options, std::span<double> x) {
  const std::size_t n = x.size();
  z_.resize(n), Az_.resize(n), q_.resize(n);
  double* const __restrict r = r_.data(), * const __restrict z = z_.data();
  const double* const __restrict inverse = inverse_.data(), * const __restrict Az = Az_.data();
  for (std::size_t i = 0; i < n; ++i) z[i] = inverse[i] * r[i];
  Apply(B, D, z_, Az_);
  p_.assign(z_.begin(), z_.end());
  Ap_.assign(Az_.begin(), Az_.end());
  double* const __restrict p = p_.data(), * const __restrict Ap = Ap_.data();
  double* const __restrict q = q_.data();  // M⁻¹ Ap
  double* const __restrict to = x.data();
  for (std::size_t i = 0; i < n; ++i) q[i] = inverse[i] * Ap[i];
  double zAz = InnerProduct(z_, Az_);
  for (int k = 0; k < options.max_iterations; ++k) {
    const double curvature = InnerProduct(Ap_, q_);
    if (!(zAz > 0) || !(curvature > 0) || !std::isfinite(curvature)) return zAz >= 0;
    const double step = zAz / curvature;
    for (std::size_t i = 0; i < n; ++i) {
      to[i] += step * p[i];
      r[i] -= step * Ap[i];
      z[i] = inverse[i] * r[i];
    }
    if (Note(options, InnerProduct(r_, z_))) return true;
    Apply(B, D, z_, Az_);
    const double next = InnerProduct(z_, Az_);
    const double turn = next / zAz;
    zAz = next;
    for (std::size_t i = 0; i < n; ++i) {
      p[i] = z[i] + turn * p[i];
      Ap[i] = Az[i] + turn * Ap[i];
      q[i] = inverse[i] * Ap[i];
    }
  }
  return true;
}

bool LinearSystemSolver::SolveConjugateGradient(const LinearOperator& B, std::span<const double> D,
                                                const LinearOptions& options, std::span<double> x) {
  const std::size_t n = x.size();
  z_.resize(n), Ap_.resize(n);
  for (std::size_t i = 0; i < n; ++i) z_[i] = inverse_[i] * r_[i];
  p_.assign(z_.begin(), z_.end());
  double rz = InnerProduct(r_, z_);
  for (int k = 0; k < options.max_iterations; ++k) {
    Apply(B, D, p_, Ap_);
    const double curvature = InnerProduct(p_, Ap_);
    if (!(rz > 0) || !(curvature > 0) || !std::isfinite(curvature)) return curvature >= 0;
    const double step = rz / curvature;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += step * p_[i];
      r_[i] -= step * Ap_[i];
      z_[i] = inverse_[i] * r_[i];
    }
    if (Note(options)) return true;
    const double next = InnerProduct(r_, z_);
    for (std::size_t i = 0; i < n; ++i) p_[i] = z_[i] + next / rz * p_[i];
    rz = next;
  }
  return true;
}

// Jacobi's method, damped by the number of rows that a row couples with, measured relative to the
// diagonal (Tonge et al. 2012). A sum of that many positive semi-definite parts cannot overshoot.
bool LinearSystemSolver::SolveJacobi(LinearOperator& B, std::span<const double> D,
                                     const LinearOptions& options, std::span<double> x) {
  const std::size_t n = x.size();
  const SparseMatrix& matrix = B.Assemble();
  z_.resize(n), Ap_.resize(n), p_.resize(n);
  CopyDiagonal(matrix, D, &Ap_);
  for (std::size_t i = 0; i < n; ++i) {
    double coupled = D[i];
    for (int k = matrix.starts[i]; k < matrix.starts[i + 1]; ++k) {
      // the geometric mean of the two diagonals bounds an entry; with this scaling light rows keep
      // their step
      if (matrix.values[k] == 0) continue;
      coupled += std::abs(matrix.values[k]) * std::sqrt(Ap_[i] / Ap_[matrix.columns[k]]);
    }
    z_[i] = coupled > 0 ? 1 / coupled : 0;
  }
  for (int k = 0; k < options.max_iterations; ++k) {
    for (std::size_t i = 0; i < n; ++i) p_[i] = z_[i] * r_[i];
    Apply(B, D, p_, Ap_);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += p_[i];
      r_[i] -= Ap_[i];
    }
    if (Note(options)) return true;
  }
  return true;
}

bool LinearSystemSolver::SolveGaussSeidel(LinearOperator& B, std::span<const double> D,
                                          std::span<const double> b, const LinearOptions& options,
                                          std::span<double> x) {
  const std::size_t n = x.size();
  const SparseMatrix& matrix = B.Assemble();
  z_.resize(n);
  CopyDiagonal(matrix, D, &z_);
  const auto multiply = [&](std::size_t i) {
    double sum = 0;
    for (int k = matrix.starts[i]; k < matrix.starts[i + 1]; ++k)
      sum += matrix.values[k] * x[matrix.columns[k]];
    return sum + D[i] * x[i];
  };
  for (int k = 0; k < options.max_iterations; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      if (z_[i] > 0) x[i] += (b[i] - multiply(i)) / z_[i];
    }
    for (std::size_t i = 0; i < n; ++i) r_[i] = b[i] - multiply(i);
    if (Note(options)) return true;
  }
  return true;
}

bool LinearSystemSolver::SolveDirect(LinearOperator& B, std::span<const double> D,
                                     std::span<const double> b, std::span<double> x) {
  const int n = static_cast<int>(x.size());
  const SparseMatrix& matrix = B.Assemble();
  std::copy(b.begin(), b.end(), x.begin());
  if (static_cast<double>(matrix.values.size()) > kDense * n * n) {
    factor_.assign(std::size_t(n) * n, 0.0);
    for (int i = 0; i < n; ++i) {
      for (int k = matrix.starts[i]; k < matrix.starts[i + 1]; ++k)
        factor_[std::size_t(i) * n + matrix.columns[k]] = matrix.values[k];
      factor_[std::size_t(i) * n + i] += D[i];
    }
    if (FactorCholesky(n, factor_.data(), n) >= 0) return Reset(x);
    SolveLower(n, factor_.data(), n, x.data());
    SolveLowerTransposed(n, factor_.data(), n, x.data());
  } else {
    if (!sparse_.Factor(matrix, D)) return Reset(x);
    sparse_.Solve(x);
  }
  Ap_.resize(n);
  Apply(B, D, x, Ap_);
  for (int i = 0; i < n; ++i) r_[i] -= Ap_[i];
  residuals_.push_back(WeightedNorm(r_) / scale_);
  return true;
}

}  // namespace pliant::solvers
