#include "solvers/smooth/damped_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/LU>

#include "solvers/linalg/lu/sparse_lu.h"

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

// Of a linear system: residual relative to its right-hand side at which it is not refined, and
// rounds of refinement.
constexpr double kRefined = 1e-12;
constexpr int kMaxRefinements = 3;

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

// A Jacobian whose rows are weighted, and its solutions.
struct DampedNewton::Matrix {
  SparseLu lu;
  // for outer products w u uᵀ: A₀⁻¹ u, and the factors of the matrix 1/w + uᵀ A₀⁻¹ u
  std::vector<std::vector<double>> columns;
  Eigen::PartialPivLU<Eigen::MatrixXd> small;
  std::vector<double> product;

  bool SolveDirect(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
                   VectorXd* x) {
    if (!Factor(J, weights)) return false;
    *x = b;
    SolveOnce(J, x);
    // refined, as pivots are chosen within supernodes only
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= kMaxRefinements; ++k) {
      const VectorXd r = b - Multiply(J, weights, *x);
      const double norm = r.norm();
      if (!(norm > kRefined * b.norm()) || k == kMaxRefinements || !(norm < 0.5 * last)) break;
      last = norm;
      VectorXd correction = r;
      SolveOnce(J, &correction);
      *x += correction;
    }
    return x->allFinite();
  }

  bool Factor(const BlockSum& J, std::span<const double> weights) {
    if (!lu.Factor(J, weights)) return false;
    const int count = static_cast<int>(J.outers.size());
    columns.assign(count, {});
    Eigen::MatrixXd S = Eigen::MatrixXd::Zero(count, count);
    for (int l = 0; l < count; ++l) {
      const BlockSum::Outer& outer = J.outers[l];
      columns[l].assign(J.size, 0.0);
      for (std::size_t i = 0; i < outer.places.size(); ++i) {
        const int place = outer.places[i];
        columns[l][place] = (weights.empty() ? 1 : weights[place]) * outer.values[i];
      }
      lu.Solve(columns[l]);
      for (int k = 0; k < count; ++k) S(k, l) = Along(J.outers[k], columns[l]);
      S(l, l) += 1 / outer.weight;
    }
    if (count > 0) small.compute(S);
    return true;
  }

  void SolveOnce(const BlockSum& J, VectorXd* x) const {
    lu.Solve({x->data(), static_cast<std::size_t>(x->size())});
    if (J.outers.empty()) return;
    VectorXd y(J.outers.size());
    for (std::size_t k = 0; k < J.outers.size(); ++k)
      y[static_cast<int>(k)] = Along(J.outers[k], {x->data(), std::size_t(x->size())});
    y = small.solve(y);
    for (std::size_t k = 0; k < columns.size(); ++k)
      *x -= y[static_cast<int>(k)] * Eigen::Map<const VectorXd>(columns[k].data(), x->size());
  }

  static double Along(const BlockSum::Outer& outer, std::span<const double> x) {
    double sum = 0;
    for (std::size_t i = 0; i < outer.places.size(); ++i)
      sum += outer.values[i] * x[outer.places[i]];
    return sum;
  }

  VectorXd Multiply(const BlockSum& J, std::span<const double> weights, const VectorXd& x) {
    VectorXd y(J.size);
    J.Multiply({x.data(), std::size_t(x.size())}, {y.data(), std::size_t(y.size())});
    if (!weights.empty())
      for (int i = 0; i < J.size; ++i) y[i] *= weights[i];
    return y;
  }

  // An outer product w u uᵀ adds an unknown y = w uᵀ x and its equation, so that the matrix stays
  // sparse.
  static Eigen::SparseMatrix<double> Extend(const BlockSum& J, std::span<const double> weights) {
    std::vector<Eigen::Triplet<double>> triplets;
    triplets.reserve(J.entries.size());
    for (const BlockSum::Entry& entry : J.entries)
      triplets.emplace_back(entry.row, entry.column, weights[entry.row] * entry.value);
    int size = J.size;
    for (const BlockSum::Outer& outer : J.outers) {
      // u · x = y / w, weighted as the rows of u are on average
      double squared = 0, of_rows = 0;
      for (std::size_t i = 0; i < outer.places.size(); ++i) {
        const double u = outer.values[i], scaled = weights[outer.places[i]] * u;
        squared += u * u;
        of_rows += scaled * scaled;
      }
      if (!(squared > 0)) continue;
      const double row_scale = std::sqrt(of_rows / squared);
      for (std::size_t i = 0; i < outer.places.size(); ++i) {
        const int place = outer.places[i];
        triplets.emplace_back(place, size, weights[place] * outer.values[i]);
        triplets.emplace_back(size, place, row_scale * outer.values[i]);
      }
      triplets.emplace_back(size, size, -row_scale / outer.weight);
      ++size;
    }
    Eigen::SparseMatrix<double> A(size, size);
    A.setFromTriplets(triplets.begin(), triplets.end());
    A.makeCompressed();
    return A;
  }

  static bool SolveIterative(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
                             double tolerance, int max_iterations, VectorXd* x, int* iterations) {
    const Eigen::SparseMatrix<double> A = Extend(J, weights);
    Eigen::BiCGSTAB<Eigen::SparseMatrix<double>, Eigen::IncompleteLUT<double>> solver;
    solver.preconditioner().setDroptol(1e-4);
    solver.setTolerance(tolerance);
    solver.setMaxIterations(max_iterations);
    solver.compute(A);
    if (solver.info() != Eigen::Success) return false;
    VectorXd extended = VectorXd::Zero(A.rows());
    extended.head(b.size()) = b;
    *x = solver.solve(extended).head(b.size());
    *iterations += static_cast<int>(solver.iterations());
    return solver.info() == Eigen::Success && x->allFinite();
  }
};

DampedNewton::DampedNewton() : matrix_(std::make_unique<Matrix>()) {}
DampedNewton::~DampedNewton() = default;

bool DampedNewton::SolveLinear(const BlockSum& jacobian, std::span<const double> b,
                               std::span<double> x) {
  VectorXd solution;
  const Eigen::Map<const VectorXd> right(b.data(), static_cast<Eigen::Index>(b.size()));
  if (!matrix_->SolveDirect(jacobian, {}, right, &solution)) return false;
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
    if (options.linear_solver == NewtonOptions::LinearSolver::kIterative) {
      const double ratio = result->iterations > 0 ? norm / last : 1;
      forcing = std::min(RaiseToGoldenRatio(ratio), kMaxForcing);
      is_solved =
          Matrix::SolveIterative(jacobian_, weights, scaled, forcing, options.max_linear_iterations,
                                 &x, &result->linear_iterations);
    }
    if (!is_solved) {
      forcing = 0;
      is_solved = matrix_->SolveDirect(jacobian_, weights, scaled, &x);
    }
    if (is_solved) is_found = search();
    const std::size_t plain = jacobian_.entries.size();
    for (const double factor : kRegularisations) {
      if (is_found) break;
      jacobian_.entries.resize(plain);
      for (std::size_t i = 0; i < n; ++i)
        jacobian_.Add(static_cast<int>(i), static_cast<int>(i), factor / (weights[i] * weights[i]));
      if (matrix_->SolveDirect(jacobian_, weights, scaled, &x)) is_found = search();
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
