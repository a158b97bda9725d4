#include "solvers/smooth/damped_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "solvers/linalg/lu/sparse_lu.h"
#include "solvers/smooth/symmetric_factor.h"

namespace pliant::solvers {
namespace {

using Eigen::VectorXd;

constexpr double kShortening = 0.5;   // ρ
constexpr double kSufficient = 1e-4;  // c1
constexpr double kMinLength = 1e-6;   // of a step along Newton's direction
constexpr int kMemory = 3;  // number of iterates of which a step must go below the highest
// Number of iterations without a new lowest residual after which each must go below the one before.
constexpr int kPatience = 10;
// Length of a step below which regularised directions, which are shorter, are tried first.
constexpr double kShortLength = 1.0 / 64;
constexpr double kMaxForcing = 0.01;  // σ
// Regularisations, relative to D⁻², that are tried in turn if Newton's direction allows short steps
// only.
constexpr double kRegularisations[] = {1, 10, 100, 1e4};

// Refinement of a solution by LU factors: residual, relative to the right-hand side, below which it
// is not refined, and maximum number of rounds.
constexpr double kRefined = 1e-12;
constexpr int kMaxRefinements = 3;
// Relative residual of the solutions that Algorithm 1 takes from BiCGSTAB.
constexpr double kDirectTolerance = 1e-9;
// Number of BiCGSTAB iterations with the factor of the symmetric part after which LU factors are
// faster, and of consecutive matrices for which it fails before it is given up.
constexpr int kMaxSymmetricIterations = 15, kMaxInsufficient = 3;
// Number of BiCGSTAB iterations that cost about as much as a factorisation of the symmetric part,
// or of the whole.
constexpr int kMaxStaleSymmetric = 6, kMaxStaleLu = 20;

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

// Solves with a Jacobian whose rows are weighted.
struct DampedNewton::Matrix {
  enum class Factors { kNone, kSymmetric, kLu };

  GroupedPattern pattern;
  SymmetricFactor symmetric{&pattern};
  SparseLu lu{&pattern};
  Factors factors = Factors::kNone;
  // Consecutive matrices for which the factor of the symmetric part did not suffice.
  int num_insufficient = 0;
  // of the last matrix factored, A₀ + Σ w u uᵀ: its outer products, A₀⁻¹ u, and the factors of
  // 1/w + uᵀ A₀⁻¹ u
  std::vector<BlockSum::Outer> outers;
  std::vector<VectorXd> columns;
  Eigen::PartialPivLU<Eigen::MatrixXd> small;
  std::vector<double> weights_of_rows;  // empty: ones
  int size = 0;                         // of that matrix

  bool FactorSymmetricPart(const BlockSum& J, std::span<const double> weights) {
    factors = symmetric.Factor(J) ? Factors::kSymmetric : Factors::kNone;
    return factors != Factors::kNone && AddOuters(J, weights);
  }
  bool FactorWhole(const BlockSum& J, std::span<const double> weights) {
    factors = lu.Factor(J, weights) ? Factors::kLu : Factors::kNone;
    return factors != Factors::kNone && AddOuters(J, weights);
  }

  bool AddOuters(const BlockSum& J, std::span<const double> weights) {
    size = J.size;
    weights_of_rows.assign(weights.begin(), weights.end());
    outers = J.outers;
    const int count = static_cast<int>(outers.size());
    columns.assign(count, VectorXd::Zero(J.size));
    Eigen::MatrixXd S(count, count);
    for (int l = 0; l < count; ++l) {
      for (std::size_t i = 0; i < outers[l].places.size(); ++i) {
        const int place = outers[l].places[i];
        columns[l][place] = (weights.empty() ? 1 : weights[place]) * outers[l].values[i];
      }
      ApplyWithoutOuters(&columns[l]);
      for (int k = 0; k < count; ++k) S(k, l) = Along(outers[k], columns[l]);
      S(l, l) += 1 / outers[l].weight;
    }
    if (count > 0) small.compute(S);
    return true;
  }

  // x ← A₀⁻¹ x with the last matrix factored.
  void ApplyWithoutOuters(VectorXd* x) {
    if (factors == Factors::kLu) return lu.Solve(Numbers(x));
    for (std::size_t i = 0; i < weights_of_rows.size(); ++i)
      (*x)[static_cast<Eigen::Index>(i)] /= weights_of_rows[i];
    symmetric.Solve(Numbers(x));
  }

  // x ← A⁻¹ x with the last matrix factored, by Woodbury's formula.
  void Apply(VectorXd* x) {
    ApplyWithoutOuters(x);
    if (outers.empty()) return;
    VectorXd y(outers.size());
    for (std::size_t k = 0; k < outers.size(); ++k)
      y[static_cast<Eigen::Index>(k)] = Along(outers[k], *x);
    y = small.solve(y);
    for (std::size_t k = 0; k < outers.size(); ++k)
      *x -= y[static_cast<Eigen::Index>(k)] * columns[k];
  }

  // BiCGSTAB with the factor of the symmetric part, unless this failed for the matrices before.
  bool TrySymmetricPart(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
                        double tolerance, VectorXd* x, int* iterations) {
    if (num_insufficient >= kMaxInsufficient) return false;
    const bool is_solved =
        FactorSymmetricPart(J, weights) &&
        Iterate(J, weights, b, tolerance, kMaxSymmetricIterations, x, iterations);
    num_insufficient = is_solved ? 0 : num_insufficient + 1;
    return is_solved;
  }

  bool SolveDirect(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
                   VectorXd* x) {
    int unused = 0;
    if (TrySymmetricPart(J, weights, b, kDirectTolerance, x, &unused)) return true;
    if (!FactorWhole(J, weights)) return false;
    // the LU factors choose pivots within supernodes only
    *x = b;
    Apply(x);
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0; k < kMaxRefinements; ++k) {
      VectorXd r = b - Multiply(J, weights, *x);
      const double norm = r.norm();
      if (!(norm > kRefined * b.norm()) || !(norm < 0.5 * last)) break;
      last = norm;
      Apply(&r);
      *x += r;
    }
    return x->allFinite();
  }

  // BiCGSTAB, preconditioned with the factors of an earlier iteration or solve. They are recomputed
  // if BiCGSTAB does not converge with them.
  bool SolveIterative(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
                      double tolerance, int max_iterations, VectorXd* x, int* iterations) {
    if (factors != Factors::kNone && size == J.size) {
      const int most = factors == Factors::kLu ? kMaxStaleLu : kMaxStaleSymmetric;
      if (Iterate(J, weights, b, tolerance, most, x, iterations)) return true;
    }
    if (TrySymmetricPart(J, weights, b, tolerance, x, iterations)) return true;
    return FactorWhole(J, weights) &&
           Iterate(J, weights, b, tolerance, max_iterations, x, iterations);
  }

  bool Iterate(const BlockSum& J, std::span<const double> weights, const VectorXd& b,
               double tolerance, int max_iterations, VectorXd* x, int* iterations) {
    *x = b;
    Apply(x);
    VectorXd r = b - Multiply(J, weights, *x);
    const double target = tolerance * b.norm();
    const VectorXd shadow = r;
    VectorXd p = VectorXd::Zero(b.size()), v = p;
    double rho = 1, alpha = 1, omega = 1;
    for (int k = 0; k < max_iterations; ++k) {
      if (r.norm() <= target) return x->allFinite();
      const double next = shadow.dot(r);
      const double beta = next / rho * (alpha / omega);
      rho = next;
      p = r + beta * (p - omega * v);
      VectorXd direction = p;
      Apply(&direction);
      v = Multiply(J, weights, direction);
      alpha = rho / shadow.dot(v);
      *x += alpha * direction;
      r -= alpha * v;
      ++*iterations;
      if (r.norm() <= target) return x->allFinite();
      direction = r;
      Apply(&direction);
      const VectorXd t = Multiply(J, weights, direction);
      omega = t.dot(r) / t.squaredNorm();
      *x += omega * direction;
      r -= omega * t;
      if (!std::isfinite(rho) || !std::isfinite(omega) || !std::isfinite(alpha)) return false;
    }
    return r.norm() <= target && x->allFinite();
  }

  static std::span<double> Numbers(VectorXd* x) {
    return {x->data(), static_cast<std::size_t>(x->size())};
  }
  static double Along(const BlockSum::Outer& outer, const VectorXd& x) {
    double sum = 0;
    for (std::size_t i = 0; i < outer.places.size(); ++i)
      sum += outer.values[i] * x[outer.places[i]];
    return sum;
  }
  static VectorXd Multiply(const BlockSum& J, std::span<const double> weights, const VectorXd& x) {
    VectorXd y(J.size);
    J.Multiply({x.data(), static_cast<std::size_t>(x.size())}, Numbers(&y));
    for (std::size_t i = 0; i < weights.size(); ++i) y[static_cast<Eigen::Index>(i)] *= weights[i];
    return y;
  }
};

DampedNewton::DampedNewton() : matrix_(std::make_unique<Matrix>()) {}
DampedNewton::~DampedNewton() = default;

void DampedNewton::Forget() {
  matrix_->factors = Matrix::Factors::kNone;
  matrix_->num_insufficient = 0;
}

bool DampedNewton::SolveLinear(const BlockSum& jacobian, std::span<const double> b,
                               std::span<double> x) {
  VectorXd solution;
  const Eigen::Map<const VectorXd> right(b.data(), static_cast<Eigen::Index>(b.size()));
  const bool is_solved = matrix_->SolveDirect(jacobian, {}, right, &solution);
  matrix_->factors = Matrix::Factors::kNone;  // they are not those of a solve's Jacobian
  if (!is_solved) return false;
  std::copy_n(solution.data(), x.size(), x.begin());
  return true;
}

void DampedNewton::Solve(SmoothSystem* system, std::span<const double> weights, double scale,
                         const NewtonOptions& options, std::span<double> v, NewtonResult* result) {
  const std::size_t n = v.size();
  *result = {};
  for (std::vector<double>* x : {&r_, &trial_, &r_trial_}) x->resize(n);
  system->StartSolve();
  if (!system->CalcResidual(v, r_)) {
    result->reason = StopReason::kLinearSolverFailed;
    return;
  }
  double norm = WeightedNorm(weights, r_), last = norm;
  const double target = options.tolerance * scale;
  result->residuals.push_back(norm / scale);
  VectorXd scaled(n), x(n), regularised(n);
  std::ptrdiff_t memory = kMemory;
  for (; norm > target; ++result->iterations) {
    if (result->iterations == options.max_iterations) {
      result->reason = StopReason::kMaxIterations;
      break;
    }
    jacobian_.Clear(static_cast<int>(n));
    system->CalcJacobian(&jacobian_);
    if (norm <= system->rounding()) break;
    // rows are scaled by D, as the norm is
    for (std::size_t i = 0; i < n; ++i) scaled[i] = -weights[i] * r_[i];

    double forcing = 0;
    bool is_found = false;
    const std::vector<double>& past = result->residuals;
    if (past.end() - std::min_element(past.begin(), past.end()) > kPatience) memory = 1;
    const double highest =
        scale * *std::max_element(past.end() - std::min(memory, std::ssize(past)), past.end());
    const auto search = [&](const VectorXd& direction, double longest, double shortest) {
      for (double length = longest; length >= shortest; length *= kShortening) {
        for (std::size_t i = 0; i < n; ++i) trial_[i] = v[i] + length * direction[i];
        if (!system->CalcResidual(trial_, r_trial_)) continue;
        const double trial_norm = WeightedNorm(weights, r_trial_);
        if (trial_norm > (1 - kSufficient * length * (1 - forcing)) * highest) continue;
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
          matrix_->SolveIterative(jacobian_, weights, scaled, forcing,
                                  options.max_linear_iterations, &x, &result->linear_iterations);
    }
    if (!is_solved) {
      forcing = 0;
      is_solved = matrix_->SolveDirect(jacobian_, weights, scaled, &x);
    }
    if (is_solved) is_found = search(x, 1, kShortLength);
    const std::size_t plain = jacobian_.entries.size();
    for (const double factor : kRegularisations) {
      if (is_found) break;
      jacobian_.entries.resize(plain);
      for (std::size_t i = 0; i < n; ++i)
        jacobian_.Add(static_cast<int>(i), static_cast<int>(i), factor / (weights[i] * weights[i]));
      if (matrix_->SolveDirect(jacobian_, weights, scaled, &regularised))
        is_found = search(regularised, 1, kShortLength);
      matrix_->factors = Matrix::Factors::kNone;  // they are not those of J
    }
    if (!is_found)
      is_found = search(is_solved ? x : regularised, kShortening * kShortLength, kMinLength);
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
