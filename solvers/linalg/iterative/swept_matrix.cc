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

// Number of blocks from which a matrix is divided, and the least length of a range in units of the
// bandwidth: shorter ones leave so many couplings out of P that it takes more iterations.
constexpr int kMinDividedBlocks = 100'000, kMinRange = 4;

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
  const std::vector<int>& rows = pattern_->rows;
  const int blocks = pattern_->num_blocks();
  int bandwidth = 1;
  for (int j = 0; j < pattern_->num_nodes; ++j)  // the rows of a column ascend
    bandwidth = std::max(bandwidth, rows[starts[j + 1] - 1] - j);
  // a power of two, which threads share evenly
  num_ranges_ = 1;
  while (blocks >= kMinDividedBlocks && num_ranges_ < kMaxRanges &&
         2 * num_ranges_ * kMinRange * bandwidth <= pattern_->num_nodes)
    num_ranges_ *= 2;
  first_outside_.resize(pattern_->num_nodes);
  int begin = 0;
  std::size_t place = 0;
  for (int k = 0; k < num_ranges_; ++k) {
    const auto up_to = static_cast<int>(std::int64_t{blocks} * (k + 1) / num_ranges_);
    const int end = static_cast<int>(std::ranges::lower_bound(starts, up_to) - starts.begin());
    int row_end = end;
    for (int j = begin; j < end; ++j) {
      const auto column_end = rows.begin() + starts[j + 1];
      row_end = std::max(row_end, *(column_end - 1) + 1);
      first_outside_[j] = static_cast<int>(
          std::lower_bound(rows.begin() + starts[j], column_end, end) - rows.begin());
    }
    ranges_[k] = {begin, end, row_end, place};
    place += 4 * std::size_t(row_end - end);
    begin = end;
  }
  outside_.resize(place);
}

template <typename F>
void SweptMatrix::ForEachRange(const F& f) const {
  if (num_ranges_ > 1 && CountThreads() > 1) {
    ParallelForWithin(num_ranges_, 1, [&](int k) { f(ranges_[k]); });
  } else {
    for (int k = 0; k < num_ranges_; ++k) f(ranges_[k]);
  }
}

void SweptMatrix::SweepDown(const Range& range, double* x) const {
  __m256d columns[3], xj[3];
  for (int j = range.begin; j < range.end; ++j) {
    double* of_j = x + 4 * std::size_t(j);
    MultiplyNode(&inverses_[9 * std::size_t(j)], of_j);
    of_j[3] = 0;  // the products below leave numbers without meaning there
    Broadcast(of_j, xj);
    for (int b = pattern_->column_starts[j] + 1; b < first_outside_[j]; ++b) {
      double* xi = x + 4 * std::size_t(pattern_->rows[b]);
      Load(&values_[9 * std::size_t(b)], columns);
      __m256d sum = _mm256_loadu_pd(xi);
      for (int c = 0; c < 3; ++c) sum = _mm256_fnmadd_pd(columns[c], xj[c], sum);
      _mm256_storeu_pd(xi, sum);
    }
  }
}

void SweptMatrix::SweepUp(const Range& range, double* t, double* above) const {
  __m256d columns[3];
  for (int j = range.end - 1; j >= range.begin; --j) {
    __m256d sums[3] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int b = pattern_->column_starts[j] + 1; b < first_outside_[j]; ++b) {
      Load(&values_[9 * std::size_t(b)], columns);
      const __m256d ti = _mm256_loadu_pd(t + 4 * std::size_t(pattern_->rows[b]));
      for (int c = 0; c < 3; ++c) sums[c] = _mm256_fmadd_pd(columns[c], ti, sums[c]);
    }
    double *tj = t + 4 * std::size_t(j), *of_j = above + 4 * std::size_t(j);
    for (int c = 0; c < 3; ++c) {
      of_j[c] = SumOfThree(sums[c]);
      tj[c] -= of_j[c];
    }
    of_j[3] = 0;
    MultiplyNode(&inverses_[9 * std::size_t(j)], tj);
  }
}

void SweptMatrix::MultiplyOutside(const Range& range, const double* t, double* own) {
  double* others = outside_.data() + range.place;
  std::fill_n(others, 4 * std::size_t(range.row_end - range.end), 0.0);
  __m256d columns[3], tj[3];
  for (int j = range.begin; j < range.end; ++j) {
    Broadcast(t + 4 * std::size_t(j), tj);
    __m256d sums[3] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int b = first_outside_[j]; b < pattern_->column_starts[j + 1]; ++b) {
      const int i = pattern_->rows[b];
      Load(&values_[9 * std::size_t(b)], columns);
      double* of_i = others + 4 * std::size_t(i - range.end);
      __m256d yi = _mm256_loadu_pd(of_i);
      const __m256d ti = _mm256_loadu_pd(t + 4 * std::size_t(i));
      for (int c = 0; c < 3; ++c) {
        yi = _mm256_fmadd_pd(columns[c], tj[c], yi);
        sums[c] = _mm256_fmadd_pd(columns[c], ti, sums[c]);
      }
      _mm256_storeu_pd(of_i, yi);
    }
    for (int c = 0; c < 3; ++c) own[4 * std::size_t(j) + c] += SumOfThree(sums[c]);
  }
}

// (L + D)⁻¹ A (D + Lᵀ)⁻¹ p
void SweptMatrix::Multiply(std::span<const double> p, std::span<double> q) {
  t_.assign(p.begin(), p.end());
  ForEachRange([&](const Range& range) { SweepUp(range, t_.data(), q.data()); });
  ForEachRange([&](const Range& range) { MultiplyOutside(range, t_.data(), q.data()); });
  for (const Range& range : std::span(ranges_).first(num_ranges_)) {
    const double* y = outside_.data() + range.place;
    for (int i = range.end; i < range.row_end; ++i, y += 4)
      for (int r = 0; r < 3; ++r) q[4 * std::size_t(i) + r] += y[r];
  }
  ForEachRange([&](const Range& range) { SweepDown(range, q.data()); });
  for (std::size_t i = 0; i < q.size(); ++i) q[i] += t_[i];
}

void SweptMatrix::MultiplyDiagonal(std::span<const double> from, std::span<double> to) const {
  for (int j = 0; j < pattern_->num_nodes; ++j) {
    const float* D = &values_[9 * std::size_t(pattern_->column_starts[j])];
    const double* x = &from[4 * std::size_t(j)];
    double* y = &to[4 * std::size_t(j)];
    for (int r = 0; r < 3; ++r) y[r] = D[r] * x[0] + D[3 + r] * x[1] + D[6 + r] * x[2];
    y[3] = 0;
  }
}

bool SweptMatrix::Solve(std::span<const double> b, double tolerance, int max_iterations,
                        std::span<double> x) {
  Pad(b, &b_);
  ForEachRange([this](const Range& range) { SweepDown(range, b_.data()); });
  x_.resize(b_.size());
  const bool is_solved = conjugate_gradients_.Solve(
      [this](std::span<const double> from, std::span<double> to) { Multiply(from, to); },
      [this](std::span<const double> from, std::span<double> to) { MultiplyDiagonal(from, to); },
      b_, tolerance, max_iterations, x_);
  ForEachRange([this](const Range& range) { SweepUp(range, x_.data(), b_.data()); });
  for (std::size_t i = 0; 3 * i < x.size(); ++i) std::copy_n(&x_[4 * i], 3, &x[3 * i]);
  return is_solved;
}

}  // namespace pliant::solvers
