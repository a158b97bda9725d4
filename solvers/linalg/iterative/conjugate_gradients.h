#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace pliant::solvers {

// Preconditioned conjugate gradients for H x = b with positive definite H, from x = 0. Keeps its
// memory.
class ConjugateGradients {
 public:
  using Operator = absl::FunctionRef<void(std::span<const double> from, std::span<double> to)>;

  // `multiply` computes H p, `precondition` P⁻¹ r with a positive definite P ≈ H; their arguments
  // do not overlap. The residual is r = b − H x. True when √(rᵀP⁻¹r) has fallen to `tolerance`
  // times its value at the start; false when it has not after `max_iterations` products, or is
  // not finite.
  bool Solve(Operator multiply, Operator precondition, std::span<const double> b, double tolerance,
             int max_iterations, std::span<double> x);
  // Products in the last solve.
  int iterations() const { return iterations_; }

 private:
  int iterations_ = 0;
  std::vector<double> r_, z_, p_, Hp_;
};

}  // namespace pliant::solvers
