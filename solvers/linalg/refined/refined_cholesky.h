#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodal_factor.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Solutions of A x = b as good as those of a factor in double precision, by one in single precision
// and iterative refinement with residuals in double precision: x ← x + (L Lᵀ)⁻¹ (b − A x). Such a
// factor takes half the time and half the memory; a solution takes as many more as there are
// refinements, two or three where A is well conditioned.
//
// Whether it succeeds, and to what bits, depends on A and b alone, for any number of threads.
class RefinedCholesky {
 public:
  // `order`: in which nodes are eliminated.
  RefinedCholesky(const BlockPattern* pattern, std::vector<int> order);

  // Whether a factor laid out like this and one solution take less time than in double precision:
  // solutions go through all numbers of the factor more often, so there must be enough operations
  // to each.
  static bool Pays(const SupernodeLayout& layout);

  // Factors A. False when that fails in single precision, or A is sure to be too ill-conditioned
  // for Solve.
  bool Factor(const BlockMatrix& A);

  // x ← A⁻¹ b for the A last factored, 3 · num_nodes numbers, refined until the backward error is
  // at the level of rounding. With D = diag(A)^(−1/2), by which stiff and soft parts weigh alike,
  // as they do in Cholesky's method, and r = b − A x:
  //
  //     ‖D r‖ ≤ 5e-16 (‖D b‖ + ‖D⁻¹ x‖)
  //
  // A factor in double precision leaves 1e-16 to 3e-16. False when the last contraction shows that
  // four refinements do not get there; x is of no use then.
  bool Solve(const BlockMatrix& A, std::span<const double> b, std::span<double> x);

  // Of the last solution: refinements, and the left side of that over what is in brackets.
  int refinements() const { return refinements_; }
  double backward_error() const { return backward_error_; }

 private:
  void AddCorrection(std::span<double> x);
  double CalcBackwardError(std::span<const double> b, std::span<const double> x) const;

  SupernodeLayout layout_;
  SupernodalFactor<float> factor_;
  std::vector<double> diagonal_, residual_;
  std::vector<float> y_;
  int refinements_ = 0;
  double backward_error_ = 0;
};

}  // namespace pliant::solvers
