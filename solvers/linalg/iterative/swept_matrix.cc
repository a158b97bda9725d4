#include "solvers/linalg/iterative/swept_matrix.h"

#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {

namespace {

using Eigen::Matrix3d;

// Number of blocks from which a matrix is divided.
constexpr int kMinDividedBlocks = 100'000;

// Loads the columns of a block. The fourth number of each is not meaningful.
void Load(const float* B, __m256d* columns) {
  const __m128i three = _mm_setr_epi32(-1, -1, -1, 0);
  columns[0] = _mm256_cvtps_pd(_mm_loadu_ps(B));
  columns[1] = _mm256_cvtps_pd(_mm_loadu_ps(B + 3));
  columns[2] = _mm256_cvtps_pd(_mm_maskload_ps(B + 6, three));
}

void Broadcast(const double* x, __m256d* numbers) {
  for (int c = 0; c < 3; ++c) numbers[c] = _mm256_broadcast_sd(x + c);
}

double SumOfThree(__m256d x) {
  return x[0] + x[1] + x[2];
}

// x ← M x of a node, with a column-major 3 × 3 M
void MultiplyNode(const double* M, double* x) {
  const double x0 = x[0], x1 = x[1], x2 = x[2];
  for (int r = 0; r < 3; ++r) x[r] = M[r] * x0 + M[3 + r] * x1 + M[6 + r] * x2;
}

void Pad(std::span<const double> from, std::vector<double>* to) {
  const std::size_t n = from.size() / 3;
  to->resize(4 * n);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(&from[3 * i], 3, &(*to)[4 * i]);
    (*to)[4 * i + 3] = 0;
  }
}

}  // namespace

bool SweptMatrix::Set(const BlockMatrix& A) {
  pattern_ = A.pattern;
  FindRanges();
  values_.assign(A.values.begin(), A.values.end());
  const std::size_t n = pattern_->num_nodes;
  inverses_.resize(9 * n);
  bool is_definite = true;
  for (std::size_t j = 0; j < n; ++j) {
    const Eigen::LLT<Matrix3d> factor(
        Eigen::Map<const Matrix3d>(&A.values[9 * std::size_t(pattern_->column_starts[j])]));
    is_definite = is_definite && factor.info() == Eigen::Success;
    Eigen::Map<Matrix3d> inverse(&inverses_[9 * j]);
    inverse = factor.solve(Matrix3d::Identity());
  }
  return is_definite;
}

// Divides the columns into ranges with about the same number of blocks.
void SweptMatrix::FindRanges() {
  const std::vector<int>& starts = pattern_->column_starts;
  const int blocks = pattern_->num_blocks();
  num_ranges_ = blocks < kMinDividedBlocks ? 1 : kRanges;
  int begin = 0;
  std::size_t place = 0;
  for (int k = 0; k < num_ranges_; ++k) {
    const auto up_to = static_cast<int>(std::int64_t{blocks} * (k + 1) / num_ranges_);
    const int end = static_cast<int>(std::ranges::lower_bound(starts, up_to) - starts.begin());
    int row_end = end;
    // the rows of a column ascend
    for (int j = begin; j < end; ++j)
      row_end = std::max(row_end, pattern_->rows[starts[j + 1] - 1] + 1);
    ranges_[k] = {begin, end, row_end, place};
    place += 4 * std::size_t(row_end - begin);
    begin = end;
  }
  y_.resize(place);
}

template <typename F>
void SweptMatrix::ForEachRange(const F& f) const {
  if (num_ranges_ > 1 && CountThreads() > 1) {
    ParallelForWithin(num_ranges_, 1, [&](int k) { f(ranges_[k]); });
  } else {
    for (int k = 0; k < num_ranges_; ++k) f(ranges_[k]);
  }
}

void SweptMatrix::Multiply(std::span<const double> from, std::span<double> to) {
  Pad(from, &x_);
  ForEachRange([this](const Range& range) { MultiplyRange(range); });
  std::ranges::fill(to, 0.0);
  for (const Range& range : std::span(ranges_).first(num_ranges_)) {
    const double* y = &y_[range.place];
    for (int i = range.begin; i < range.row_end; ++i, y += 4)
      for (int r = 0; r < 3; ++r) to[3 * std::size_t(i) + r] += y[r];
  }
}

// The columns' contribution to A x: their blocks of L + D, and these transposed.
void SweptMatrix::MultiplyRange(const Range& range) {
  const double* x = x_.data();
  double* of_range = &y_[range.place];
  std::fill_n(of_range, 4 * std::size_t(range.row_end - range.begin), 0.0);
  const auto at = [&](int i) { return of_range + 4 * std::size_t(i - range.begin); };
  __m256d columns[3], xj[3];
  for (int j = range.begin; j < range.end; ++j) {
    Broadcast(x + 4 * std::size_t(j), xj);
    __m256d sums[3] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    const int start = pattern_->column_starts[j];
    for (int b = start; b < pattern_->column_starts[j + 1]; ++b) {
      const int i = pattern_->rows[b];
      Load(&values_[9 * std::size_t(b)], columns);
      __m256d yi = _mm256_loadu_pd(at(i));
      for (int c = 0; c < 3; ++c) yi = _mm256_fmadd_pd(columns[c], xj[c], yi);
      _mm256_storeu_pd(at(i), yi);
      if (b == start) continue;  // the diagonal block
      const __m256d xi = _mm256_loadu_pd(x + 4 * std::size_t(i));
      for (int c = 0; c < 3; ++c) sums[c] = _mm256_fmadd_pd(columns[c], xi, sums[c]);
    }
    for (int c = 0; c < 3; ++c) at(j)[c] += SumOfThree(sums[c]);
  }
}

void SweptMatrix::Precondition(std::span<const double> from, std::span<double> to) {
  Pad(from, &x_);
  ForEachRange([this](const Range& range) { Sweep(range); });
  for (std::size_t i = 0; 3 * i < to.size(); ++i) std::copy_n(&x_[4 * i], 3, &to[3 * i]);
}

// Solves (L + D) y = x, then (D + Lᵀ) x = D y, for the nodes of a range.
void SweptMatrix::Sweep(const Range& range) {
  double* x = x_.data();
  __m256d columns[3], y[3];
  for (int j = range.begin; j < range.end; ++j) {
    double* xj = x + 4 * std::size_t(j);
    MultiplyNode(&inverses_[9 * std::size_t(j)], xj);
    Broadcast(xj, y);
    for (int b = pattern_->column_starts[j] + 1; b < pattern_->column_starts[j + 1]; ++b) {
      const int i = pattern_->rows[b];
      if (i >= range.end) break;
      Load(&values_[9 * std::size_t(b)], columns);
      __m256d xi = _mm256_loadu_pd(x + 4 * std::size_t(i));
      for (int c = 0; c < 3; ++c) xi = _mm256_fnmadd_pd(columns[c], y[c], xi);
      _mm256_storeu_pd(x + 4 * std::size_t(i), xi);
    }
  }
  for (int j = range.end - 1; j >= range.begin; --j) {
    __m256d sums[3] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int b = pattern_->column_starts[j] + 1; b < pattern_->column_starts[j + 1]; ++b) {
      const int i = pattern_->rows[b];
      if (i >= range.end) break;
      Load(&values_[9 * std::size_t(b)], columns);
      const __m256d xi = _mm256_loadu_pd(x + 4 * std::size_t(i));
      for (int c = 0; c < 3; ++c) sums[c] = _mm256_fmadd_pd(columns[c], xi, sums[c]);
    }
    double of_others[3];
    for (int c = 0; c < 3; ++c) of_others[c] = SumOfThree(sums[c]);
    MultiplyNode(&inverses_[9 * std::size_t(j)], of_others);
    for (int c = 0; c < 3; ++c) x[4 * std::size_t(j) + c] -= of_others[c];
  }
}

}  // namespace pliant::solvers
