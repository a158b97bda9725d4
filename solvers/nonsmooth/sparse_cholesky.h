#pragma once

#include <memory>
#include <span>
#include <vector>

namespace pliant::solvers {

// A symmetric matrix, both triangles stored: row i has the entries from starts[i] to starts[i + 1],
// columns ascending.
struct SparseMatrix {
  std::vector<int> starts, columns;
  std::vector<double> values;

  int size() const { return static_cast<int>(starts.size()) - 1; }
};

// Cholesky factor of a sparse matrix. Uses SuiteSparse's simplicial factorisation, whose bits
// depend on no BLAS. The ordering is reused while the pattern is unchanged.
class SparseCholesky {
 public:
  SparseCholesky();
  ~SparseCholesky();
  SparseCholesky(SparseCholesky&&) noexcept;
  SparseCholesky& operator=(SparseCholesky&&) noexcept;
  // Factors A + D with a diagonal D. False when that is not positive definite.
  bool Factor(const SparseMatrix& A, std::span<const double> D);
  // x ← (A + D)⁻¹ x; needs Factor.
  void Solve(std::span<double> x);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> work_;
};

}  // namespace pliant::solvers
