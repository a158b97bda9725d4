#include "solvers/nonsmooth/packed_rows.h"

#include <algorithm>
#include <immintrin.h>

namespace pliant::solvers {
namespace {

constexpr int kLanes = 4, kNarrow = 2;

// Returns (a₀ + a₁, b₀ + b₁, a₂ + a₃, b₂ + b₃).
__m256d AddPairs(__m256d a, __m256d b) {
  return _mm256_hadd_pd(a, b);
}

// (x₀, x₁, 0, 0)
__m256d LoadNarrow(const double* x) {
  return _mm256_zextpd128_pd256(_mm_loadu_pd(x));
}

}  // namespace

void PackedRows::Clear() {
  rows_.clear();
  parts_.clear();
  values_.clear();
}

void PackedRows::AddRows(int height) {
  rows_.push_back({height, 0});
}

void PackedRows::AddEntry(int first, int columns, const double* values) {
  const int height = rows_.back().height;
  for (int begin = 0; begin < columns;) {
    const int count = std::min(kLanes, columns - begin),
              width = count <= kNarrow ? kNarrow : kLanes;
    ++rows_.back().num_parts;
    parts_.push_back({first + begin, width == kNarrow});
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c)
        values_.push_back(c < count ? values[height * (begin + c) + r] : 0);
    begin += width;
  }
}

std::size_t PackedRows::AddTransposed(const double* x, double* z) const {
  const double* begin = x;
  const double* J = values_.data();
  const Part* part = parts_.data();
  for (const Rows& rows : rows_) {
    const Part* end = part + rows.num_parts;
    if (rows.height == 3) {
      const __m256d x0 = _mm256_broadcast_sd(x), x1 = _mm256_broadcast_sd(x + 1),
                    x2 = _mm256_broadcast_sd(x + 2);
      for (; part != end; ++part) {
        double* to = z + part->first;
        if (part->is_narrow) {
          __m128d sum = _mm_loadu_pd(to);
          sum = _mm_fmadd_pd(_mm_loadu_pd(J), _mm256_castpd256_pd128(x0), sum);
          sum = _mm_fmadd_pd(_mm_loadu_pd(J + kNarrow), _mm256_castpd256_pd128(x1), sum);
          sum = _mm_fmadd_pd(_mm_loadu_pd(J + 2 * kNarrow), _mm256_castpd256_pd128(x2), sum);
          _mm_storeu_pd(to, sum);
          J += 3 * kNarrow;
          continue;
        }
        __m256d sum = _mm256_loadu_pd(to);
        sum = _mm256_fmadd_pd(_mm256_loadu_pd(J), x0, sum);
        sum = _mm256_fmadd_pd(_mm256_loadu_pd(J + kLanes), x1, sum);
        sum = _mm256_fmadd_pd(_mm256_loadu_pd(J + 2 * kLanes), x2, sum);
        _mm256_storeu_pd(to, sum);
        J += 3 * kLanes;
      }
    } else {
      const __m256d x0 = _mm256_broadcast_sd(x);
      for (; part != end; ++part) {
        double* to = z + part->first;
        if (part->is_narrow) {
          _mm_storeu_pd(
              to, _mm_fmadd_pd(_mm_loadu_pd(J), _mm256_castpd256_pd128(x0), _mm_loadu_pd(to)));
          J += kNarrow;
          continue;
        }
        _mm256_storeu_pd(to, _mm256_fmadd_pd(_mm256_loadu_pd(J), x0, _mm256_loadu_pd(to)));
        J += kLanes;
      }
    }
    x += rows.height;
  }
  return x - begin;
}

std::size_t PackedRows::Multiply(const double* z, double* y) const {
  const double* begin = y;
  const double* J = values_.data();
  const Part* part = parts_.data();
  for (const Rows& rows : rows_) {
    const Part* end = part + rows.num_parts;
    __m256d s0 = _mm256_setzero_pd(), s1 = s0, s2 = s0;
    if (rows.height == 3) {
      for (; part != end; ++part) {
        if (part->is_narrow) {
          const __m256d v = LoadNarrow(z + part->first);
          s0 = _mm256_fmadd_pd(LoadNarrow(J), v, s0);
          s1 = _mm256_fmadd_pd(LoadNarrow(J + kNarrow), v, s1);
          s2 = _mm256_fmadd_pd(LoadNarrow(J + 2 * kNarrow), v, s2);
          J += 3 * kNarrow;
          continue;
        }
        const __m256d v = _mm256_loadu_pd(z + part->first);
        s0 = _mm256_fmadd_pd(_mm256_loadu_pd(J), v, s0);
        s1 = _mm256_fmadd_pd(_mm256_loadu_pd(J + kLanes), v, s1);
        s2 = _mm256_fmadd_pd(_mm256_loadu_pd(J + 2 * kLanes), v, s2);
        J += 3 * kLanes;
      }
      const __m256d first = AddPairs(s0, s1), last = AddPairs(s2, s2);
      _mm_storeu_pd(y, _mm_add_pd(_mm256_castpd256_pd128(first), _mm256_extractf128_pd(first, 1)));
      _mm_store_sd(y + 2, _mm_add_sd(_mm256_castpd256_pd128(last), _mm256_extractf128_pd(last, 1)));
    } else {
      for (; part != end; ++part) {
        if (part->is_narrow) {
          s0 = _mm256_fmadd_pd(LoadNarrow(J), LoadNarrow(z + part->first), s0);
          J += kNarrow;
          continue;
        }
        s0 = _mm256_fmadd_pd(_mm256_loadu_pd(J), _mm256_loadu_pd(z + part->first), s0);
        J += kLanes;
      }
      const __m256d sum = AddPairs(s0, s0);
      _mm_store_sd(y, _mm_add_sd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1)));
    }
    y += rows.height;
  }
  return y - begin;
}

}  // namespace pliant::solvers
