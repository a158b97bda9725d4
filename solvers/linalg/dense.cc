#include "solvers/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <immintrin.h>

#include "solvers/linalg/trapezoid.h"

namespace pliant::solvers {
namespace {

// by the widest kernel this machine has
void Trapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc, bool overwrite) {
  static const auto kernel = __builtin_cpu_supports("avx512f") ? &SubtractLowerTrapezoidAvx512
                                                               : &SubtractLowerTrapezoidAvx2;
  kernel(m, n, k, A, lda, C, ldc, overwrite);
}

// Unblocked: the k columns of a narrow panel, left to right.
int FactorNarrowPanel(int n, int k, double* A, int lda) {
  for (int j = 0; j < k; ++j) {
    double* column = A + std::size_t(j) * lda;
    const double pivot = column[j];
    if (!(pivot > 0)) return j;
    const double root = std::sqrt(pivot);
    const double inverse = 1 / root;
    column[j] = root;
    for (int i = j + 1; i < n; ++i) column[i] *= inverse;
    for (int l = j + 1; l < k; ++l) {
      double* other = A + std::size_t(l) * lda;
      const double factor = column[l];
      for (int i = l; i < n; ++i) other[i] = std::fma(-factor, column[i], other[i]);
    }
  }
  return -1;
}

constexpr int kNarrow = 4;
constexpr int kFew = 48;  // rows for which the wide kernel does not pay

// Mask of the first `count` ≤ 3 lanes.
__m256i FirstLanes(int count) {
  alignas(32) static constexpr long long kMasks[8] = {-1, -1, -1, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 3 - count));
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
  for (int j = 0; j < n; ++j) {
    const double* column = L + std::size_t(j) * ldl;
    const double value = x[j] / column[j];
    x[j] = value;
    for (int i = j + 1; i < n; ++i) x[i] = std::fma(-column[i], value, x[i]);
  }
}

void SolveLowerTransposed(int n, const double* L, int ldl, double* x) {
  for (int j = n - 1; j >= 0; --j) {
    const double* column = L + std::size_t(j) * ldl;
    x[j] = (x[j] - Dot(n - j - 1, column + j + 1, x + j + 1)) / column[j];
  }
}

void SubtractMatrixVector(int m, int n, const double* A, int lda, const double* x, double* y) {
  for (int j = 0; j < n; ++j) {
    const double* column = A + std::size_t(j) * lda;
    const double value = x[j];
    for (int i = 0; i < m; ++i) y[i] = std::fma(-column[i], value, y[i]);
  }
}

void SubtractTransposedMatrixVector(int m, int n, const double* A, int lda, const double* y,
                                    double* x) {
  for (int j = 0; j < n; ++j) x[j] -= Dot(m, A + std::size_t(j) * lda, y);
}

void MultiplySymmetric(int n, const double* A, int lda, const double* x, double* y) {
  if (n == 6) {
    // a rigid body: columns in registers
    __m256d top = _mm256_setzero_pd();
    __m128d bottom = _mm_setzero_pd();
    for (int j = 0; j < 6; ++j) {
      const double* column = A + std::size_t(j) * lda;
      top = _mm256_fmadd_pd(_mm256_loadu_pd(column), _mm256_set1_pd(x[j]), top);
      bottom = _mm_fmadd_pd(_mm_loadu_pd(column + 4), _mm_set1_pd(x[j]), bottom);
    }
    _mm256_storeu_pd(y, top);
    _mm_storeu_pd(y + 4, bottom);
    return;
  }
  for (int j = 0; j < n; ++j) y[j] = Dot(n, A + std::size_t(j) * lda, x);
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
    const int left = n - i;
    if (left >= 4) {
      s0 = _mm256_fmadd_pd(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i), s0);
    }
    if (left != 4) {
      const __m256i mask = FirstLanes(left & 3);
      const int at = left > 4 ? i + 4 : i;
      const __m256d product_x = _mm256_maskload_pd(x + at, mask);
      const __m256d product_y = _mm256_maskload_pd(y + at, mask);
      __m256d& sum = left > 4 ? s1 : s0;
      sum = _mm256_fmadd_pd(product_x, product_y, sum);
    }
  }
  alignas(32) double lanes[8];
  _mm256_store_pd(lanes, s0);
  _mm256_store_pd(lanes + 4, s1);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

}  // namespace pliant::solvers
