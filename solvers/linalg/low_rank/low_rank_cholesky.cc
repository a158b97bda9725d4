#include "solvers/linalg/low_rank/low_rank_cholesky.h"

#include <algorithm>
#include <cstddef>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

double Product(std::span<const double> x, std::span<const double> y) {
  return Dot(static_cast<int>(x.size()), x.data(), y.data());
}

}  // namespace

void LowRank::AddProduct(std::span<const double> x, std::span<double> y) const {
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (!(weights[k] > 0)) continue;
    const double factor = weights[k] * Product(columns[k], x);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * columns[k][i];
  }
}

void LowRank::AddDiagonal(std::span<double> diagonal) const {
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (!(weights[k] > 0)) continue;
    for (std::size_t i = 0; i < diagonal.size(); ++i)
      diagonal[i] += weights[k] * columns[k][i] * columns[k][i];
  }
}

bool LowRankCholesky::Factor(const BlockMatrix& A, const LowRank& U,
                             std::span<const int> participants, ComplementForm form,
                             std::span<const double> b) {
  columns_.clear();
  if (U.empty()) return factor_.Factor(A, participants, form, b);
  if (!factor_.Factor(A, participants, ComplementForm::kDense, b)) return false;
  return Prepare(A, U, b, true);
}

bool LowRankCholesky::Eliminate(const BlockMatrix& A, const LowRank& U,
                                std::span<const int> participants, ComplementForm form,
                                std::span<const double> b) {
  columns_.clear();
  if (U.empty()) return factor_.Eliminate(A, participants, form, b);
  if (!factor_.Eliminate(A, participants, ComplementForm::kDense, b)) return false;
  return Prepare(A, U, b, false);
}

bool LowRankCholesky::Prepare(const BlockMatrix& A, const LowRank& U, std::span<const double> b,
                              bool is_whole) {
  const std::size_t n = 3 * static_cast<std::size_t>(A.pattern->num_nodes);
  const std::size_t n_p = 3 * participants().size();
  for (std::size_t k = 0; k < U.weights.size(); ++k)
    if (U.weights[k] > 0) columns_.push_back({&U.columns[k], U.weights[k], {}, {}, {}});
  const int m = static_cast<int>(columns_.size());
  scratch_.assign(n_p, 0.0);
  for (Column& column : columns_) {
    column.reduced.resize(n_p);
    column.eliminated.resize(n);
    column.solved.resize(is_whole ? n_p : 0);
    factor_.Reduce(*column.u);
    factor_.CopyReduced(column.reduced);
    factor_.Complete(scratch_, column.eliminated);
    if (is_whole && n_p > 0) factor_.SolveForParticipants(column.solved);
  }
  factor_.Reduce(b);

  last_.assign(static_cast<std::size_t>(m) * m, 0.0);
  shift_.resize(m);
  y_.resize(m);
  for (int k = 0; k < m; ++k) {
    shift_[k] = Product(columns_[k].eliminated, b);
    for (int l = 0; l < m; ++l) {
      const std::size_t at = static_cast<std::size_t>(k) * m + l;
      last_[at] = Product(columns_[l].eliminated, *columns_[k].u);
      if (k == l) last_[at] += 1 / columns_[k].weight;
    }
  }
  whole_last_ = last_;
  if (FactorCholesky(m, last_.data(), m) >= 0) return false;
  if (is_whole && n_p > 0) {
    for (int k = 0; k < m; ++k)
      for (int l = 0; l < m; ++l)
        whole_last_[static_cast<std::size_t>(k) * m + l] +=
            Product(columns_[l].solved, columns_[k].reduced);
    if (FactorCholesky(m, whole_last_.data(), m) >= 0) return false;
  }

  // Â_A is dense; Û D⁻¹ Ûᵀ is the sum over the rows of L⁻¹ Ûᵀ
  const std::span<const double> sparse = factor_.schur_complement().dense;
  complement_.assign(sparse.begin(), sparse.end());
  std::vector<double> rows(n_p * m);
  for (std::size_t i = 0; i < n_p; ++i) {
    for (int k = 0; k < m; ++k) rows[i * m + k] = columns_[k].reduced[i];
    SolveLower(m, last_.data(), m, &rows[i * m]);
  }
  for (std::size_t j = 0; j < n_p; ++j) {
    for (std::size_t i = 0; i < n_p; ++i) {
      double sum = complement_[j * n_p + i];
      for (int k = 0; k < m; ++k) sum += rows[i * m + k] * rows[j * m + k];
      complement_[j * n_p + i] = sum;
    }
  }
  return true;
}

SchurComplement LowRankCholesky::schur_complement() const {
  if (columns_.empty()) return factor_.schur_complement();
  return std::span<const double>(complement_);
}

void LowRankCholesky::SolveForLast(std::span<const double> x_p) const {
  const int m = static_cast<int>(columns_.size());
  for (int k = 0; k < m; ++k) y_[k] = shift_[k] + Product(columns_[k].reduced, x_p);
  SolveLower(m, last_.data(), m, y_.data());
  SolveLowerTransposed(m, last_.data(), m, y_.data());
}

void LowRankCholesky::CopyReduced(std::span<double> r_p) const {
  factor_.CopyReduced(r_p);
  if (columns_.empty()) return;
  scratch_.assign(r_p.size(), 0.0);
  SolveForLast(scratch_);
  for (std::size_t k = 0; k < columns_.size(); ++k)
    for (std::size_t i = 0; i < r_p.size(); ++i) r_p[i] -= y_[k] * columns_[k].reduced[i];
}

void LowRankCholesky::SolveForParticipants(std::span<double> x_p) const {
  factor_.SolveForParticipants(x_p);
  if (columns_.empty() || x_p.empty()) return;
  const int m = static_cast<int>(columns_.size());
  for (int k = 0; k < m; ++k) y_[k] = shift_[k] + Product(columns_[k].reduced, x_p);
  SolveLower(m, whole_last_.data(), m, y_.data());
  SolveLowerTransposed(m, whole_last_.data(), m, y_.data());
  for (int k = 0; k < m; ++k)
    for (std::size_t i = 0; i < x_p.size(); ++i) x_p[i] -= y_[k] * columns_[k].solved[i];
}

void LowRankCholesky::Complete(std::span<const double> x_p, std::span<double> x) const {
  factor_.Complete(x_p, x);
  if (columns_.empty()) return;
  SolveForLast(x_p);
  for (std::size_t k = 0; k < columns_.size(); ++k)
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y_[k] * columns_[k].eliminated[i];
}

}  // namespace pliant::solvers
