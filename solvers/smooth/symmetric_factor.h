#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/iterative/single_cholesky.h"
#include "solvers/linalg/lu/block_sum.h"
#include "solvers/linalg/lu/grouped_pattern.h"

namespace pliant::solvers {

// Cholesky factor, in single precision, of the symmetric part ½(B + Bᵀ) of B, a matrix A without
// its one-sided parts. Of a Jacobian of inertia, elasticity and contacts, only friction and the
// turning of normals are not symmetric, so it is a strong preconditioner, which takes about an
// eighth of the time of an LU factorisation of A. Keeps its memory.
class SymmetricFactor {
 public:
  // `pattern` must outlive this.
  explicit SymmetricFactor(GroupedPattern* pattern)
      : pattern_(pattern), matrix_(&pattern->pattern()) {}

  // Factors the symmetric part, without outer products. Keeps the analysis while entries have the
  // same places. False if it is not positive definite in single precision, as with unknowns that
  // are eliminated last, or so small that an LU factorisation takes no longer.
  bool Factor(const BlockSum& A);

  // x ← (L Lᵀ)⁻¹ x.
  void Solve(std::span<double> x);

 private:
  // An entry is added to one or two numbers of a block.
  struct Target {
    std::int32_t number, mirrored;  // −1: none
  };

  void Analyse();
  void FindTargets();
  void Add(std::size_t entry, double value);

  GroupedPattern* pattern_;
  std::int64_t version_ = 0;  // of the pattern that was analysed
  bool pays_off_ = false;
  std::vector<Target> targets_;  // of the entries
  BlockMatrix matrix_;
  SingleCholesky factor_;
  std::vector<double> b_, x_;  // by slots
};

}  // namespace pliant::solvers
