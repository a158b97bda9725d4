#include "solvers/linalg/iterative/conjugate_gradients.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

bool ConjugateGradients::Solve(Operator multiply, Operator precondition, std::span<const double> b,
                               double tolerance, int max_iterations, std::span<double> x) {
  const std::size_t n = b.size();
  const auto dot = [n](const std::vector<double>& a, const std::vector<double>& c) {
    return Dot(static_cast<int>(n), a.data(), c.data());
  };
  iterations_ = 0;
  std::ranges::fill(x, 0.0);
  r_.assign(b.begin(), b.end());
  z_.resize(n);
  Hp_.resize(n);
  precondition(r_, z_);
  p_ = z_;
  double square = dot(r_, z_);
  const double target = tolerance * tolerance * square;
  while (!(square <= target)) {
    if (iterations_ == max_iterations || !std::isfinite(square)) return false;
    ++iterations_;
    multiply(p_, Hp_);
    const double alpha = square / dot(p_, Hp_);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p_[i];
      r_[i] -= alpha * Hp_[i];
    }
    precondition(r_, z_);
    const double next = dot(r_, z_), beta = next / square;
    square = next;
    for (std::size_t i = 0; i < n; ++i) p_[i] = z_[i] + beta * p_[i];
  }
  return true;
}

}  // namespace pliant::solvers
