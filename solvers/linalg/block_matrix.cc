#include "solvers/linalg/block_matrix.h"

#include <algorithm>
#include <immintrin.h>
#include <utility>

namespace pliant::solvers {

int BlockPattern::Find(int i, int j) const {
  const auto [column, row] = std::minmax(i, j);
  const auto begin = rows.begin() + column_starts[column];
  const auto end = rows.begin() + column_starts[column + 1];
  const auto found = std::lower_bound(begin, end, row);
  return found != end && *found == row ? static_cast<int>(found - rows.begin()) : -1;
}

BlockPattern MakeBlockPattern(int num_nodes, std::span<const std::array<int, 4>> elements) {
  std::vector<std::pair<int, int>> entries;  // column, row
  entries.reserve(num_nodes + 6 * elements.size());
  for (int i = 0; i < num_nodes; ++i) entries.emplace_back(i, i);
  for (const std::array<int, 4>& element : elements) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < a; ++b) {
        entries.emplace_back(std::min(element[a], element[b]), std::max(element[a], element[b]));
      }
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());

  BlockPattern pattern;
  pattern.num_nodes = num_nodes;
  pattern.column_starts.assign(num_nodes + 1, 0);
  for (const auto& [column, row] : entries) {
    ++pattern.column_starts[column + 1];
    pattern.rows.push_back(row);
  }
  for (int i = 0; i < num_nodes; ++i) pattern.column_starts[i + 1] += pattern.column_starts[i];
  return pattern;
}

void BlockMatrix::Multiply(std::span<const double> x, std::span<double> y) const {
  std::fill(y.begin(), y.end(), 0.0);
  // a column of a block in three of four lanes; what lies in the fourth is not used
  const __m256i three = _mm256_setr_epi64x(-1, -1, -1, 0);
  for (int j = 0; j < pattern->num_nodes; ++j) {
    __m256d xj[3], yj[3];
    for (int c = 0; c < 3; ++c) {
      xj[c] = _mm256_set1_pd(x[3 * j + c]);
      yj[c] = _mm256_setzero_pd();
    }
    const int start = pattern->column_starts[j];
    for (int k = start; k < pattern->column_starts[j + 1]; ++k) {
      const double* B = &values[9 * std::size_t(k)];
      const __m256d columns[3] = {_mm256_loadu_pd(B), _mm256_loadu_pd(B + 3),
                                  _mm256_maskload_pd(B + 6, three)};
      const std::size_t i = 3 * std::size_t(pattern->rows[k]);
      const __m256d xi = _mm256_maskload_pd(&x[i], three);
      __m256d yi = _mm256_maskload_pd(&y[i], three);
      for (int c = 0; c < 3; ++c) yi = _mm256_fmadd_pd(columns[c], xj[c], yi);
      _mm256_maskstore_pd(&y[i], three, yi);
      // the block of the upper triangle is the transpose; the diagonal has none
      if (k == start) continue;
      for (int c = 0; c < 3; ++c) yj[c] = _mm256_fmadd_pd(columns[c], xi, yj[c]);
    }
    for (int c = 0; c < 3; ++c) y[3 * j + c] += yj[c][0] + yj[c][1] + yj[c][2];
  }
}

void BlockMatrix::CopyDiagonal(std::span<double> diagonal) const {
  for (int j = 0; j < pattern->num_nodes; ++j) {
    const double* B = &values[9 * std::size_t(pattern->column_starts[j])];
    for (int c = 0; c < 3; ++c) diagonal[3 * j + c] = B[4 * c];
  }
}

}  // namespace pliant::solvers
