#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodal_factor.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Cholesky factor of a symmetric matrix in single precision, which takes half the time and half the
// memory of one in double precision. Its solutions have a relative error of about 1e-7 times the
// condition number, so it preconditions an iterative solution in double precision. Bits do not
// depend on threads. Keeps its memory.
class SingleCholesky {
 public:
  // Whether a factor takes so many operations that it pays off to compute it in single precision
  // and to refine its solutions. order[k] is the node eliminated k-th.
  static bool PaysOff(const BlockPattern& pattern, std::span<const int> order);

  void SetPattern(const BlockPattern& pattern, std::span<const int> order);

  // False if A is not positive definite in single precision, or its diagonal spans so many powers
  // of ten that numbers could underflow.
  bool Factor(const BlockMatrix& A);

  // x ← (L Lᵀ)⁻¹ b, three numbers per node.
  void Solve(std::span<const double> b, std::span<double> x);

 private:
  SupernodeLayout layout_;
  SupernodalFactor<float> factor_;
  std::vector<double> diagonal_;
  std::vector<float> y_;
};

}  // namespace pliant::solvers
