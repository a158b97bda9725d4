#include "solvers/nonsmooth/sparse_cholesky.h"

#include <algorithm>
#include <cmath>

#include <suitesparse/cholmod.h>

namespace pliant::solvers {

struct SparseCholesky::Workspace {
  Workspace() {
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SIMPLICIAL;
    common.final_ll = 1;
    common.print = 0;
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_AMD;
    common.postorder = 1;
    common.quick_return_if_not_posdef = 1;
  }
  ~Workspace() {
    cholmod_free_dense(&X, &common);
    cholmod_free_dense(&Y, &common);
    cholmod_free_dense(&E, &common);
    cholmod_free_factor(&factor, &common);
    cholmod_finish(&common);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  cholmod_common common;
  cholmod_factor* factor = nullptr;
  cholmod_dense *X = nullptr, *Y = nullptr, *E = nullptr;
  // the lower triangle by columns, read from the rows of the upper one
  std::vector<int> starts, rows;
  std::vector<double> values;
  std::vector<int> known_starts, known_rows;  // the pattern that was analysed
};

SparseCholesky::SparseCholesky() = default;
SparseCholesky::~SparseCholesky() = default;
SparseCholesky::SparseCholesky(SparseCholesky&&) noexcept = default;
SparseCholesky& SparseCholesky::operator=(SparseCholesky&&) noexcept = default;

bool SparseCholesky::Factor(const SparseMatrix& A, std::span<const double> D) {
  if (!work_) work_ = std::make_unique<Workspace>();
  Workspace& w = *work_;
  const int n = A.size();
  w.starts.assign(1, 0);
  w.rows.clear();
  w.values.clear();
  for (int j = 0; j < n; ++j) {
    for (int k = A.starts[j]; k < A.starts[j + 1]; ++k) {
      const int i = A.columns[k];
      if (i < j) continue;
      w.rows.push_back(i);
      w.values.push_back(A.values[k] + (i == j ? D[i] : 0));
      // not every version of CHOLMOD reports NaN as a failure
      if (!std::isfinite(w.values.back())) return false;
    }
    w.starts.push_back(static_cast<int>(w.rows.size()));
  }
  cholmod_sparse matrix{};
  matrix.nrow = matrix.ncol = n;
  matrix.nzmax = w.rows.size();
  matrix.p = w.starts.data();
  matrix.i = w.rows.data();
  matrix.x = w.values.data();
  matrix.stype = -1;
  matrix.itype = CHOLMOD_INT;
  matrix.xtype = CHOLMOD_REAL;
  matrix.dtype = CHOLMOD_DOUBLE;
  matrix.sorted = 1;
  matrix.packed = 1;
  if (w.factor == nullptr || w.starts != w.known_starts || w.rows != w.known_rows) {
    cholmod_free_factor(&w.factor, &w.common);
    w.factor = cholmod_analyze(&matrix, &w.common);
    w.known_starts = w.starts;
    w.known_rows = w.rows;
    if (w.factor == nullptr) return false;
  }
  cholmod_factorize(&matrix, w.factor, &w.common);
  return w.common.status == CHOLMOD_OK && w.factor->minor == static_cast<std::size_t>(n);
}

void SparseCholesky::Solve(std::span<double> x) {
  Workspace& w = *work_;
  cholmod_dense b{};
  b.nrow = b.nzmax = b.d = x.size();
  b.ncol = 1;
  b.x = x.data();
  b.xtype = CHOLMOD_REAL;
  b.dtype = CHOLMOD_DOUBLE;
  cholmod_solve2(CHOLMOD_A, w.factor, &b, nullptr, &w.X, nullptr, &w.Y, &w.E, &w.common);
  std::copy_n(static_cast<const double*>(w.X->x), x.size(), x.data());
}

}  // namespace pliant::solvers
