#include "solvers/linalg/block_matrix.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>
#include <utility>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {

int BlockPattern::Find(int i, int j) const {
  const auto [column, row] = std::minmax(i, j);
  const auto begin = rows.begin() + column_starts[column];
  const auto end = rows.begin() + column_starts[column + 1];
  const auto found = std::lower_bound(begin, end, row);
  return found != end && *found == row ? static_cast<int>(found - rows.begin()) : -1;
}

BlockPattern MakeBlockPattern(int num_nodes, std::span<const std::array<int, 4>> elements) {
  // group the rows by their column, then sort each of the small groups
  std::vector<std::size_t> first(num_nodes + 1, 0);
  const auto visit = [&](auto&& take) {
    for (const std::array<int, 4>& element : elements) {
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < a; ++b) {
          const auto [column, row] = std::minmax(element[a], element[b]);
          take(column, row);
        }
      }
    }
  };
  visit([&](int column, int) { ++first[column + 1]; });
  for (int i = 0; i < num_nodes; ++i) first[i + 1] += first[i] + 1;
  std::vector<int> grouped(first[num_nodes]);
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (int i = 0; i < num_nodes; ++i) grouped[next[i]++] = i;
  visit([&](int column, int row) { grouped[next[column]++] = row; });

  BlockPattern pattern;
  pattern.num_nodes = num_nodes;
  pattern.column_starts.assign(num_nodes + 1, 0);
  ParallelFor(num_nodes, 512, [&](int i) {
    const auto begin = grouped.begin() + static_cast<std::ptrdiff_t>(first[i]);
    const auto end = grouped.begin() + static_cast<std::ptrdiff_t>(first[i + 1]);
    std::sort(begin, end);
    pattern.column_starts[i + 1] = static_cast<int>(std::unique(begin, end) - begin);
  });
  for (int i = 0; i < num_nodes; ++i) pattern.column_starts[i + 1] += pattern.column_starts[i];
  pattern.rows.resize(pattern.column_starts[num_nodes]);
  for (int i = 0; i < num_nodes; ++i) {
    const int start = pattern.column_starts[i];
    std::copy_n(grouped.begin() + static_cast<std::ptrdiff_t>(first[i]),
                pattern.column_starts[i + 1] - start, pattern.rows.begin() + start);
  }
  return pattern;
}

namespace {

// Matrices with at least kMinParallelBlocks blocks are multiplied in kRanges ranges of columns with
// about the same number of blocks.
constexpr int kMinParallelBlocks = 20'000, kRanges = 4;

// Contribution of columns [begin, end) to y = A x, which affects rows [begin, row_end).
struct Stretch {
  int begin, end, row_end;
  double* y;  // from row `begin` on
};

int FindStretches(const BlockPattern& pattern, std::array<Stretch, kRanges>* stretches) {
  const int count = pattern.num_blocks() < kMinParallelBlocks ? 1 : kRanges;
  int begin = 0;
  for (int s = 0; s < count; ++s) {
    const auto blocks = static_cast<int>(std::int64_t{pattern.num_blocks()} * (s + 1) / count);
    const auto end = std::ranges::lower_bound(pattern.column_starts, blocks);
    (*stretches)[s].begin = begin;
    (*stretches)[s].end = begin = static_cast<int>(end - pattern.column_starts.begin());
  }
  for (Stretch& stretch : std::span(*stretches).first(count)) {
    stretch.row_end = stretch.end;
    // the rows of a column ascend
    for (int j = stretch.begin; j < stretch.end; ++j)
      stretch.row_end =
          std::max(stretch.row_end, pattern.rows[pattern.column_starts[j + 1] - 1] + 1);
  }
  return count;
}

// Multiplies kCount vectors. A node's three numbers are padded to four to fill a register; the
// fourth lane is unused.
template <int kCount>
void MultiplyColumns(const BlockMatrix& A, const double* x, const Stretch& stretch) {
  const BlockPattern& pattern = *A.pattern;
  double* y = stretch.y - 4 * kCount * std::size_t(stretch.begin);
  std::fill_n(stretch.y, 4 * kCount * std::size_t(stretch.row_end - stretch.begin), 0.0);
  const __m256i three = _mm256_setr_epi64x(-1, -1, -1, 0);
  for (std::size_t j = stretch.begin; j < std::size_t(stretch.end); ++j) {
    __m256d xj[kCount][3], yj[kCount][3];
    for (int k = 0; k < kCount; ++k) {
      for (int c = 0; c < 3; ++c) {
        xj[k][c] = _mm256_broadcast_sd(x + 4 * (kCount * j + k) + c);
        yj[k][c] = _mm256_setzero_pd();
      }
    }
    const int start = pattern.column_starts[j];
    for (int b = start; b < pattern.column_starts[j + 1]; ++b) {
      const double* B = &A.values[9 * std::size_t(b)];
      const __m256d columns[3] = {_mm256_loadu_pd(B), _mm256_loadu_pd(B + 3),
                                  _mm256_maskload_pd(B + 6, three)};
      const std::size_t i = pattern.rows[b];
      for (int k = 0; k < kCount; ++k) {
        double* place = y + 4 * (kCount * i + k);
        const __m256d xi = _mm256_loadu_pd(x + 4 * (kCount * i + k));
        __m256d yi = _mm256_loadu_pd(place);
        for (int c = 0; c < 3; ++c) yi = _mm256_fmadd_pd(columns[c], xj[k][c], yi);
        _mm256_storeu_pd(place, yi);
        // the block in the upper triangle is the transpose; a diagonal block has none
        if (b == start) continue;
        for (int c = 0; c < 3; ++c) yj[k][c] = _mm256_fmadd_pd(columns[c], xi, yj[k][c]);
      }
    }
    for (int k = 0; k < kCount; ++k) {
      double* place = y + 4 * (kCount * j + k);
      for (int c = 0; c < 3; ++c) place[c] += yj[k][c][0] + yj[k][c][1] + yj[k][c][2];
    }
  }
}

// y = A x for kCount vectors. The stretches, and so the order of the sums, depend on the pattern
// alone.
template <int kCount>
void MultiplyVectors(const BlockMatrix& A, const std::array<const double*, kCount>& x,
                     const std::array<double*, kCount>& y) {
  const std::size_t n = A.pattern->num_nodes;
  std::array<Stretch, kRanges> all;
  const std::span<Stretch> stretches = std::span(all).first(FindStretches(*A.pattern, &all));
  std::size_t size = n;
  for (const Stretch& stretch : stretches) size += stretch.row_end - stretch.begin;
  thread_local std::vector<double> scratch;
  scratch.resize(4 * kCount * size);
  double* padded_x = scratch.data();
  double* place = padded_x + 4 * kCount * n;
  for (Stretch& stretch : stretches) {
    stretch.y = place;
    place += 4 * kCount * std::size_t(stretch.row_end - stretch.begin);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < kCount; ++k) {
      double* to = padded_x + 4 * (kCount * i + k);
      for (int r = 0; r < 3; ++r) to[r] = x[k][3 * i + r];
      to[3] = 0;
    }
  }
  const auto multiply = [&](int s) { MultiplyColumns<kCount>(A, padded_x, stretches[s]); };
  if (stretches.size() > 1 && CountThreads() > 1) {
    ParallelForWithin(static_cast<int>(stretches.size()), 1, multiply);
  } else {
    for (std::size_t s = 0; s < stretches.size(); ++s) multiply(static_cast<int>(s));
  }
  // add the contributions of earlier stretches to the rows that each stretch owns
  for (const Stretch& stretch : stretches) {
    for (int i = stretch.begin; i < stretch.end; ++i) {
      for (int k = 0; k < kCount; ++k) {
        const double* own = stretch.y + 4 * (kCount * std::size_t(i - stretch.begin) + k);
        for (int r = 0; r < 3; ++r) y[k][3 * i + r] = own[r];
      }
    }
    for (const Stretch* before = stretches.data(); before != &stretch; ++before) {
      for (int i = stretch.begin; i < std::min(stretch.end, before->row_end); ++i) {
        for (int k = 0; k < kCount; ++k) {
          const double* more = before->y + 4 * (kCount * std::size_t(i - before->begin) + k);
          for (int r = 0; r < 3; ++r) y[k][3 * i + r] += more[r];
        }
      }
    }
  }
}

}  // namespace

void BlockMatrix::Multiply(std::span<const double> x, std::span<double> y) const {
  MultiplyVectors<1>(*this, {x.data()}, {y.data()});
}

void BlockMatrix::Multiply(std::span<const double> x0, std::span<const double> x1,
                           std::span<double> y0, std::span<double> y1) const {
  MultiplyVectors<2>(*this, {x0.data(), x1.data()}, {y0.data(), y1.data()});
}

void BlockMatrix::CopyDiagonal(std::span<double> diagonal) const {
  for (int j = 0; j < pattern->num_nodes; ++j) {
    const double* B = &values[9 * std::size_t(pattern->column_starts[j])];
    for (int c = 0; c < 3; ++c) diagonal[3 * j + c] = B[4 * c];
  }
}

}  // namespace pliant::solvers
