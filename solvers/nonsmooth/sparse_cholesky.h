#pragma once

#include <memory>
#include <span>
#include <vector>

namespace pliant::solvers {

// A symmetric matrix, both triangles: row i has the entries from starts[i] to starts[i + 1],
// columns ascending.
struct SparseMatrix {
  std::vector<int> starts, columns;
  std::vector<double> values;

  int size() const { return static_cast<int>(starts.size()) - 1; }
};

// Cholesky factor of a sparse matrix (SuiteSparse's simplicial one, whose bits depend on no BLAS).
// Its ordering is kept while the pattern stays.
class SparseCholesky {
 public:
  SparseCholesky();
  ~SparseCholesky();
  SparseCholesky(SparseCholesky&&) noexcept;
  SparseCholesky& operator=(SparseCholesky&&) noexcept;
  // Of A + D with a diagonal D; false when that is not positive definite.
  bool Factor(const SparseMatrix& A, std::span<const double> D);
  // x ← (A + D)⁻¹ x; needs Factor.
  void Solve(std::span<double> x);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> work_;
};

}  // namespace pliant::solvers
