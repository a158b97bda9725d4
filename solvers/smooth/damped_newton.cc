#include "solvers/smooth/damped_newton.h"

#include <algorithm>
#include <cmath>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseLU>

namespace pliant::solvers {
namespace {

using Eigen::VectorXd;

constexpr double kShortening = 0.5;   // ρ
constexpr double kSufficient = 1e-4;  // c1
constexpr double kMinLength = 1e-6;   // of a step along Newton's direction
constexpr double kMaxForcing = 0.01;  // σ
// Regularisations tried one after the other where Newton's direction does not descend, relative to
// D⁻².
constexpr double kRegularisations[] = {1, 10, 100, 1e4};

double WeightedNorm(std::span<const double> weights, std::span<const double> r) {
  double sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) sum += weights[i] * weights[i] * r[i] * r[i];
  return std::sqrt(sum);
}

// x^φ, φ = (1 + √5)/2, with the exponent 13/8: the bits of the C library's power differ between
// machines.
double RaiseToGoldenRatio(double x) {
  const double root = std::sqrt(x);
  return x * root * std::sqrt(std::sqrt(root));
}

}  // namespace

// The Jacobian by columns, with its factors. An outer product w u uᵀ adds an unknown y = w uᵀ x and
// its equation, so that the matrix stays sparse.
struct DampedNewton::Matrix {
  Eigen::SparseMatrix<double> J;
  Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
  std::vector<int> columns, rows;  // pattern that was analysed

  // Multiplies rows by `weights`, which has an entry for each or none.
  void Assemble(const BlockSum& sum, std::span<const double> weights) {
    using Triplet = Eigen::Triplet<double>;
    const auto weight = [&](int row) { return weights.empty() ? 1 : weights[row]; };
    std::vector<Triplet> triplets;
    triplets.reserve(sum.entries.size());
    for (const BlockSum::Entry& entry : sum.entries)
      triplets.emplace_back(entry.row, entry.column, weight(entry.row) * entry.value);
    int size = sum.size;
    for (const BlockSum::Outer& outer : sum.outers) {
      // u · x = y / w, weighted as the rows of u are on average
      double squared = 0, of_rows = 0;
      for (std::size_t i = 0; i < outer.places.size(); ++i) {
        const double u = outer.values[i], scaled = weight(outer.places[i]) * u;
        squared += u * u;
        of_rows += scaled * scaled;
      }
      if (!(squared > 0)) continue;
      const double row_scale = std::sqrt(of_rows / squared);
      for (std::size_t i = 0; i < outer.places.size(); ++i) {
        const int place = outer.places[i];
        triplets.emplace_back(place, size, weight(place) * outer.values[i]);
        triplets.emplace_back(size, place, row_scale * outer.values[i]);
      }
      triplets.emplace_back(size, size, -row_scale / outer.weight);
      ++size;
    }
    J.resize(size, size);
    J.setFromTriplets(triplets.begin(), triplets.end());
    J.makeCompressed();
  }

  bool Factor() {
    const std::span<const int> c(J.outerIndexPtr(), J.cols() + 1),
        r(J.innerIndexPtr(), J.nonZeros());
    if (!std::ranges::equal(c, columns) || !std::ranges::equal(r, rows)) {
      columns.assign(c.begin(), c.end());
      rows.assign(r.begin(), r.end());
      lu.analyzePattern(J);
    }
    lu.factorize(J);
    return lu.info() == Eigen::Success;
  }
  // x has the size of b, without the unknowns of outer products.
  bool SolveDirect(const VectorXd& b, VectorXd* x) {
    if (!Factor()) return false;
    *x = lu.solve(Extend(b)).head(b.size());
    return x->allFinite();
  }
  bool SolveIterative(const VectorXd& b, double tolerance, int max_iterations, VectorXd* x,
                      int* iterations) const {
    Eigen::BiCGSTAB<Eigen::SparseMatrix<double>, Eigen::IncompleteLUT<double>> solver;
    solver.preconditioner().setDroptol(1e-4);
    solver.setTolerance(tolerance);
    solver.setMaxIterations(max_iterations);
    solver.compute(J);
    if (solver.info() != Eigen::Success) return false;
    *x = solver.solve(Extend(b)).head(b.size());
    *iterations += static_cast<int>(solver.iterations());
    return solver.info() == Eigen::Success && x->allFinite();
  }
  VectorXd Extend(const VectorXd& b) const {
    VectorXd extended = VectorXd::Zero(J.rows());
    extended.head(b.size()) = b;
    return extended;
  }
};

DampedNewton::DampedNewton() : matrix_(std::make_unique<Matrix>()) {}
DampedNewton::~DampedNewton() = default;

bool DampedNewton::SolveLinear(const BlockSum& jacobian, std::span<const double> b,
                               std::span<double> x) {
  matrix_->Assemble(jacobian, {});
  VectorXd solution;
  if (!matrix_->SolveDirect(Eigen::Map<const VectorXd>(b.data(), b.size()), &solution))
    return false;
  std::copy_n(solution.data(), x.size(), x.begin());
  return true;
}

void DampedNewton::Solve(SmoothSystem* system, std::span<const double> weights, double scale,
                         const NewtonOptions& options, std::span<double> v, NewtonResult* result) {
  const std::size_t n = v.size();
  *result = {};
  for (std::vector<double>* x : {&r_, &trial_, &r_trial_, &step_}) x->resize(n);
  if (!system->CalcResidual(v, r_)) {
    result->reason = StopReason::kLinearSolverFailed;
    return;
  }
  double norm = WeightedNorm(weights, r_), last = norm;
  const double target = options.tolerance * scale;
  result->residuals.push_back(norm / scale);
  VectorXd scaled(n), x(n);
  for (; norm > target; ++result->iterations) {
    if (result->iterations == options.max_iterations) {
      result->reason = StopReason::kMaxIterations;
      break;
    }
    jacobian_.Clear(static_cast<int>(n));
    system->CalcJacobian(&jacobian_);
    // rows are scaled by D, as the norm is
    for (std::size_t i = 0; i < n; ++i) scaled[i] = -weights[i] * r_[i];

    double forcing = 0;
    bool is_found = false;
    const auto search = [&] {
      for (double length = 1; length >= kMinLength; length *= kShortening) {
        for (std::size_t i = 0; i < n; ++i) trial_[i] = v[i] + length * x[i];
        if (!system->CalcResidual(trial_, r_trial_)) continue;
        const double trial_norm = WeightedNorm(weights, r_trial_);
        if (trial_norm > (1 - kSufficient * length * (1 - forcing)) * norm) continue;
        last = norm;
        norm = trial_norm;
        return true;
      }
      return false;
    };
    bool is_solved = false;
    matrix_->Assemble(jacobian_, weights);
    if (options.linear_solver == NewtonOptions::LinearSolver::kIterative) {
      const double ratio = result->iterations > 0 ? norm / last : 1;
      forcing = std::min(RaiseToGoldenRatio(ratio), kMaxForcing);
      is_solved = matrix_->SolveIterative(scaled, forcing, options.max_linear_iterations, &x,
                                          &result->linear_iterations);
    }
    if (!is_solved) {
      forcing = 0;
      is_solved = matrix_->SolveDirect(scaled, &x);
    }
    if (is_solved) is_found = search();
    const std::size_t plain = jacobian_.entries.size();
    for (const double factor : kRegularisations) {
      if (is_found) break;
      jacobian_.entries.resize(plain);
      for (std::size_t i = 0; i < n; ++i)
        jacobian_.Add(static_cast<int>(i), static_cast<int>(i), factor / (weights[i] * weights[i]));
      matrix_->Assemble(jacobian_, weights);
      if (matrix_->SolveDirect(scaled, &x)) is_found = search();
    }
    if (!is_found) {
      // the Jacobian belongs to the last residual that was computed
      system->CalcResidual(v, r_);
      result->reason = is_solved ? StopReason::kStalled : StopReason::kFactorisationFailed;
      break;
    }
    std::ranges::copy(trial_, v.begin());
    r_.swap(r_trial_);
    result->residuals.push_back(norm / scale);
  }
  result->residual = norm / scale;
}

}  // namespace pliant::solvers
