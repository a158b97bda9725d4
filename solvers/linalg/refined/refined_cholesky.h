#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodal_factor.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Solves A x = b to double precision with a single-precision factor and iterative refinement, with
// residuals in double precision: x ← x + (L Lᵀ)⁻¹ (b − A x). The factor takes half the time and
// half the memory. Each refinement costs one more solution: two or three when A is well
// conditioned.
//
// Success and the bits of the solution depend on A and b alone, not on the number of threads.
class RefinedCholesky {
 public:
  // `order`: elimination order of the nodes.
  RefinedCholesky(const BlockPattern* pattern, std::vector<int> order);

  // Whether a factor with this layout and one solution take less time than in double precision.
  // Solutions read the whole factor more often, so the factorisation must need enough operations
  // per number.
  static bool Pays(const SupernodeLayout& layout);

  // Factors A. False when that fails in single precision, or A is certainly too ill-conditioned for
  // Solve.
  bool Factor(const BlockMatrix& A);

  // x ← A⁻¹ b for the A last factored, 3 · num_nodes numbers, refined until the backward error is
  // at rounding level. With r = b − A x and the scaling D = diag(A)^(−1/2), which weighs stiff and
  // soft parts alike, as Cholesky's method does:
  //
  //     ‖D r‖ ≤ 5e-16 (‖D b‖ + ‖D⁻¹ x‖)
  //
  // A factor in double precision leaves 1e-16 to 3e-16. False when the last contraction shows that
  // four refinements are not enough; x is then invalid.
  bool Solve(const BlockMatrix& A, std::span<const double> b, std::span<double> x);

  // Refinements of the last solution, and its backward error ‖D r‖ / (‖D b‖ + ‖D⁻¹ x‖).
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
