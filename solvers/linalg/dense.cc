#include "solvers/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <immintrin.h>

#include "solvers/linalg/first_lanes.h"
#include "solvers/linalg/parallel.h"
#include "solvers/linalg/trapezoid/trapezoid.h"

namespace pliant::solvers {
namespace {

// multiply-adds that are worth several threads, and that each of their parts has at least
constexpr double kMuchWork = 4e6, kLeastPart = 5e5;
constexpr int kMostParts = 16, kWholeStrip = 8;

// By the widest kernel this machine has. Of a large one strips of columns of about the same area are worked on at the same
// time: an element is one sum wherever it is cut.
void Trapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc, bool overwrite) {
  static const auto kernel = __builtin_cpu_supports("avx512f") ? &SubtractLowerTrapezoidAvx512
                                                               : &SubtractLowerTrapezoidAvx2;
  const double area = n * (m - 0.5 * n), work = area * k;
  if (work < kMuchWork || CountThreads() == 1) return kernel(m, n, k, A, lda, C, ldc, overwrite);
  const int count = static_cast<int>(std::min<double>(kMostParts, work / kLeastPart));
  // columns before which there is this part of the area
  const auto cut = [&](int part) {
    if (part == count) return n;
    const double j = m - std::sqrt(std::max(0.0, double(m) * m - 2 * area * part / count));
    return std::min(n, static_cast<int>(j) / kWholeStrip * kWholeStrip);
  };
  ParallelForWithin(count, 1, [&](int part) {
    const int begin = cut(part), end = cut(part + 1);
    if (begin == end) return;
    kernel(m - begin, end - begin, k, A + begin, lda, C + std::size_t(begin) * (ldc + 1), ldc,
           overwrite);
  });
}

constexpr int kNarrow = 4;
constexpr int kFew = 48;  // rows for which the wide kernel does not pay

// y ← y − A x, or y ← A x, of 4 kVectors rows, in registers.
template <int kVectors, bool kSubtract>
void MultiplyRows(int n, const double* A, int lda, const double* x, double* y) {
  __m256d sum[kVectors];
  for (int r = 0; r < kVectors; ++r)
    sum[r] = kSubtract ? _mm256_loadu_pd(y + 4 * r) : _mm256_setzero_pd();
  for (int j = 0; j < n; ++j, A += lda) {
    const __m256d value = _mm256_broadcast_sd(x + j);
    for (int r = 0; r < kVectors; ++r) {
      const __m256d a = _mm256_loadu_pd(A + 4 * r);
      sum[r] = kSubtract ? _mm256_fnmadd_pd(a, value, sum[r]) : _mm256_fmadd_pd(a, value, sum[r]);
    }
  }
  for (int r = 0; r < kVectors; ++r) _mm256_storeu_pd(y + 4 * r, sum[r]);
}

// The same of fewer than eight rows.
template <bool kSubtract>
void MultiplyLastRows(int rows, int n, const double* A, int lda, const double* x, double* y) {
  const __m256i mask = FirstLanes(rows), mask_beyond = FirstLanes(rows - 4);
  __m256d sum = _mm256_setzero_pd(), beyond = sum;
  if (kSubtract) {
    sum = _mm256_maskload_pd(y, mask);
    beyond = _mm256_maskload_pd(y + 4, mask_beyond);
  }
  for (int j = 0; j < n; ++j, A += lda) {
    const __m256d value = _mm256_broadcast_sd(x + j);
    const __m256d a = _mm256_maskload_pd(A, mask), b = _mm256_maskload_pd(A + 4, mask_beyond);
    sum = kSubtract ? _mm256_fnmadd_pd(a, value, sum) : _mm256_fmadd_pd(a, value, sum);
    beyond = kSubtract ? _mm256_fnmadd_pd(b, value, beyond) : _mm256_fmadd_pd(b, value, beyond);
  }
  if (rows < 4) return StoreFirstLanes(y, rows, sum);
  _mm256_storeu_pd(y, sum);
  StoreFirstLanes(y + 4, rows - 4, beyond);
}

template <bool kSubtract>
void Multiply(int m, int n, const double* A, int lda, const double* x, double* y) {
  int i = 0;
  for (; i + 32 <= m; i += 32) MultiplyRows<8, kSubtract>(n, A + i, lda, x, y + i);
  for (; i + 8 <= m; i += 8) MultiplyRows<2, kSubtract>(n, A + i, lda, x, y + i);
  if (i < m) MultiplyLastRows<kSubtract>(m - i, n, A + i, lda, x, y + i);
}

// Dot of y and each of four columns, in the same lanes.
__m256d DotFour(int n, const double* A, int lda, const double* y) {
  __m256d even[4], odd[4];
  for (int c = 0; c < 4; ++c) even[c] = odd[c] = _mm256_setzero_pd();
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256d y0 = _mm256_loadu_pd(y + i), y1 = _mm256_loadu_pd(y + i + 4);
    for (int c = 0; c < 4; ++c) {
      const double* column = A + std::size_t(c) * lda + i;
      even[c] = _mm256_fmadd_pd(_mm256_loadu_pd(column), y0, even[c]);
      odd[c] = _mm256_fmadd_pd(_mm256_loadu_pd(column + 4), y1, odd[c]);
    }
  }
  if (i < n) {
    const __m256i mask = FirstLanes(n - i), mask_beyond = FirstLanes(n - i - 4);
    const __m256d y0 = _mm256_maskload_pd(y + i, mask),
                  y1 = _mm256_maskload_pd(y + i + 4, mask_beyond);
    for (int c = 0; c < 4; ++c) {
      const double* column = A + std::size_t(c) * lda + i;
      even[c] = _mm256_fmadd_pd(_mm256_maskload_pd(column, mask), y0, even[c]);
      odd[c] = _mm256_fmadd_pd(_mm256_maskload_pd(column + 4, mask_beyond), y1, odd[c]);
    }
  }
  for (int c = 0; c < 4; ++c) even[c] = _mm256_add_pd(even[c], odd[c]);
  const __m256d first = _mm256_hadd_pd(even[0], even[1]), last = _mm256_hadd_pd(even[2], even[3]);
  return _mm256_add_pd(_mm256_permute2f128_pd(first, last, 0x20),
                       _mm256_permute2f128_pd(first, last, 0x31));
}

// Four rows below a triangle L, in registers.
template <int k, typename Load, typename Store>
void SolveFourRows(const double (&L)[k][k], const double (&inverse)[k], double* A, int lda,
                   const Load& load, const Store& store) {
  __m256d rows[k];
  for (int j = 0; j < k; ++j) {
    double* place = A + std::size_t(j) * lda;
    rows[j] = load(place);
    for (int l = 0; l < j; ++l)
      rows[j] = _mm256_fnmadd_pd(_mm256_set1_pd(L[j][l]), rows[l], rows[j]);
    rows[j] = _mm256_mul_pd(rows[j], _mm256_set1_pd(inverse[j]));
    store(place, rows[j]);
  }
}

// Few columns: their triangle, then what is below.
template <int k>
int FactorColumns(int n, double* A, int lda) {
  double inverse[k] = {}, L[k][k] = {};
  for (int j = 0; j < k; ++j) {
    double* column = A + std::size_t(j) * lda;
    if (!(column[j] > 0)) return j;
    // the next pivot does not wait for this one's root
    const double of_pivot = 1 / column[j];
    for (int l = j + 1; l < k; ++l) {
      double* other = A + std::size_t(l) * lda;
      const double factor = column[l] * of_pivot;
      for (int i = l; i < k; ++i) other[i] = std::fma(-factor, column[i], other[i]);
    }
    const double root = std::sqrt(column[j]);
    inverse[j] = 1 / root;
    column[j] = root;
    for (int i = j + 1; i < k; ++i) L[i][j] = column[i] *= inverse[j];
  }
  int i = k;
  for (; i + 4 <= n; i += 4) {
    SolveFourRows(
        L, inverse, A + i, lda, [](const double* p) { return _mm256_loadu_pd(p); },
        [](double* p, __m256d x) { _mm256_storeu_pd(p, x); });
  }
  if (i == n) return -1;
  const __m256i mask = FirstLanes(n - i);
  SolveFourRows(
      L, inverse, A + i, lda, [&](const double* p) { return _mm256_maskload_pd(p, mask); },
      [&](double* p, __m256d x) { StoreFirstLanes(p, n - i, x); });
  return -1;
}

// Up to eight.
int FactorNarrowPanel(int n, int k, double* A, int lda) {
  static constexpr decltype(&FactorColumns<1>) kKernels[] = {
      &FactorColumns<1>, &FactorColumns<2>, &FactorColumns<3>, &FactorColumns<4>,
      &FactorColumns<5>, &FactorColumns<6>, &FactorColumns<7>, &FactorColumns<8>};
  return k > 0 ? kKernels[k - 1](n, A, lda) : -1;
}

// Compliances side by side: what one waits for another one can use.
template <int kCount>
void CalcCompliances(int n, const double* L, int ldl, const double* const (&J)[kCount], double* X,
                     double* const (&W)[kCount]) {
  // a column of J, and of X = L⁻¹ Jᵀ a row, fills three lanes
  constexpr int kRow = 4 * kCount;
  const __m256i three = FirstLanes(3);
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < kCount; ++c)
      _mm256_storeu_pd(X + kRow * i + 4 * c, _mm256_maskload_pd(J[c] + 3 * i, three));
  }
  __m256d columns[kCount][3];
  for (auto& of_one : columns)
    for (__m256d& column : of_one) column = _mm256_setzero_pd();
  for (int first = 0; first < n; first += kNarrow) {
    const double* corner = L + std::size_t(first) * (ldl + 1);
    const int count = std::min(kNarrow, n - first);
    __m256d x[kCount][kNarrow] = {};
    for (int j = 0; j < count; ++j) {
      const __m256d inverse = _mm256_set1_pd(1 / corner[std::size_t(j) * (ldl + 1)]);
      for (int c = 0; c < kCount; ++c) x[c][j] = _mm256_loadu_pd(X + kRow * (first + j) + 4 * c);
      for (int k = 0; k < j; ++k) {
        const __m256d value = _mm256_broadcast_sd(corner + std::size_t(k) * ldl + j);
        for (int c = 0; c < kCount; ++c) x[c][j] = _mm256_fnmadd_pd(value, x[c][k], x[c][j]);
      }
      for (int c = 0; c < kCount; ++c) {
        const __m256d row = x[c][j] = _mm256_mul_pd(x[c][j], inverse);
        columns[c][0] = _mm256_fmadd_pd(row, _mm256_permute4x64_pd(row, 0x00), columns[c][0]);
        columns[c][1] = _mm256_fmadd_pd(row, _mm256_permute4x64_pd(row, 0x55), columns[c][1]);
        columns[c][2] = _mm256_fmadd_pd(row, _mm256_permute4x64_pd(row, 0xaa), columns[c][2]);
      }
    }
    for (int i = count; i < n - first; ++i) {
      double* row = X + kRow * (first + i);
      __m256d sum[kCount];
      for (int c = 0; c < kCount; ++c) sum[c] = _mm256_loadu_pd(row + 4 * c);
      for (int j = 0; j < kNarrow; ++j) {
        const __m256d value = _mm256_broadcast_sd(corner + std::size_t(j) * ldl + i);
        for (int c = 0; c < kCount; ++c) sum[c] = _mm256_fnmadd_pd(value, x[c][j], sum[c]);
      }
      for (int c = 0; c < kCount; ++c) _mm256_storeu_pd(row + 4 * c, sum[c]);
    }
  }
  for (int c = 0; c < kCount; ++c)
    for (int s = 0; s < 3; ++s) StoreFirstLanes(W[c] + 3 * s, 3, columns[c][s]);
}

}  // namespace

void SubtractLowerTrapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc) {
  if (k > 0) Trapezoid(m, n, k, A, lda, C, ldc, false);
}

void NegateLowerTrapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc) {
  Trapezoid(m, n, k, A, lda, C, ldc, true);
}

int FactorPanel(int n, int k, double* A, int lda) {
  if (k <= kNarrow || (k <= 2 * kNarrow && n <= kFew)) return FactorNarrowPanel(n, k, A, lda);
  // left half, its update of the right half's lower trapezoid, right half
  const int left = (k / 2 + kNarrow - 1) / kNarrow * kNarrow;
  int failed = FactorPanel(n, left, A, lda);
  if (failed >= 0) return failed;
  double* right = A + std::size_t(left) * lda + left;
  SubtractLowerTrapezoid(n - left, k - left, left, A + left, lda, right, lda);
  failed = FactorPanel(n - left, k - left, right, lda);
  return failed < 0 ? -1 : left + failed;
}

int FactorCholesky(int n, double* A, int lda) {
  return FactorPanel(n, n, A, lda);
}

void SolveLower(int n, const double* L, int ldl, double* x) {
  for (int first = 0; first < n; first += kNarrow) {
    const double* corner = L + std::size_t(first) * (ldl + 1);
    const int count = std::min(kNarrow, n - first);
    double* of_block = x + first;
    for (int j = 0; j < count; ++j) {
      const double* column = corner + std::size_t(j) * ldl;
      // the division waits for nothing that came before
      of_block[j] *= 1 / column[j];
      for (int i = j + 1; i < count; ++i)
        of_block[i] = std::fma(-column[i], of_block[j], of_block[i]);
    }
    Multiply<true>(n - first - count, count, corner + count, ldl, of_block, of_block + count);
  }
}

void SolveLowerTransposed(int n, const double* L, int ldl, double* x) {
  for (int first = (n - 1) / kNarrow * kNarrow; first >= 0; first -= kNarrow) {
    const double* corner = L + std::size_t(first) * (ldl + 1);
    const int count = std::min(kNarrow, n - first);
    double* of_block = x + first;
    SubtractTransposedMatrixVector(n - first - count, count, corner + count, ldl, of_block + count,
                                   of_block);
    for (int j = count - 1; j >= 0; --j) {
      const double* column = corner + std::size_t(j) * ldl;
      for (int i = count - 1; i > j; --i)
        of_block[j] = std::fma(-column[i], of_block[i], of_block[j]);
      of_block[j] *= 1 / column[j];
    }
  }
}

void SubtractMatrixVector(int m, int n, const double* A, int lda, const double* x, double* y) {
  Multiply<true>(m, n, A, lda, x, y);
}

void SubtractTransposedMatrixVector(int m, int n, const double* A, int lda, const double* y,
                                    double* x) {
  if (m == 0) return;
  int j = 0;
  for (; j + 4 <= n; j += 4) {
    const __m256d sums = DotFour(m, A + std::size_t(j) * lda, lda, y);
    _mm256_storeu_pd(x + j, _mm256_sub_pd(_mm256_loadu_pd(x + j), sums));
  }
  for (; j < n; ++j) x[j] -= Dot(m, A + std::size_t(j) * lda, y);
}

void MultiplySymmetric(int n, const double* A, int lda, const double* x, double* y) {
  if (n <= kFew) return Multiply<false>(n, n, A, lda, x, y);
  // a large matrix is read column by column
  for (int j = 0; j < n; ++j) y[j] = Dot(n, A + std::size_t(j) * lda, x);
}

void CalcCompliance(int n, const double* L, int ldl, const double* J, double* X, double* W) {
  CalcCompliances<1>(n, L, ldl, {J}, X, {W});
}

void CalcTwoCompliances(int n, const double* L, int ldl, const double* const (&J)[2], double* X,
                        double* const (&W)[2]) {
  CalcCompliances<2>(n, L, ldl, J, X, W);
}

double Dot(int n, const double* x, const double* y) {
  __m256d s0 = _mm256_setzero_pd(), s1 = _mm256_setzero_pd();
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    s0 = _mm256_fmadd_pd(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i), s0);
    s1 = _mm256_fmadd_pd(_mm256_loadu_pd(x + i + 4), _mm256_loadu_pd(y + i + 4), s1);
  }
  if (i < n) {
    // the rest fills the lanes from the first on
    const __m256i mask = FirstLanes(n - i), mask_beyond = FirstLanes(n - i - 4);
    s0 = _mm256_fmadd_pd(_mm256_maskload_pd(x + i, mask), _mm256_maskload_pd(y + i, mask), s0);
    s1 = _mm256_fmadd_pd(_mm256_maskload_pd(x + i + 4, mask_beyond),
                         _mm256_maskload_pd(y + i + 4, mask_beyond), s1);
  }
  alignas(32) double lanes[8];
  _mm256_store_pd(lanes, s0);
  _mm256_store_pd(lanes + 4, s1);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

}  // namespace pliant::solvers
