#include "solvers/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <immintrin.h>

namespace pliant::solvers {
namespace {

// C (4·R × N) −= A (4·R × k) Bᵀ, accumulators in registers
template <int R, int N>
inline void Tile(int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  __m256d acc[R][N];
  for (int j = 0; j < N; ++j) {
    for (int r = 0; r < R; ++r) acc[r][j] = _mm256_loadu_pd(C + std::size_t(j) * ldc + 4 * r);
  }
  for (int p = 0; p < k; ++p) {
    __m256d a[R];
    for (int r = 0; r < R; ++r) a[r] = _mm256_loadu_pd(A + 4 * r);
    for (int j = 0; j < N; ++j) {
      const __m256d b = _mm256_broadcast_sd(B + j);
      for (int r = 0; r < R; ++r) acc[r][j] = _mm256_fnmadd_pd(a[r], b, acc[r][j]);
    }
    A += lda;
    B += ldb;
  }
  for (int j = 0; j < N; ++j) {
    for (int r = 0; r < R; ++r) _mm256_storeu_pd(C + std::size_t(j) * ldc + 4 * r, acc[r][j]);
  }
}

// what is left of the rows: fewer than four
template <int N>
inline void Rest(int m, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  for (int i = 0; i < m; ++i) {
    double acc[N];
    for (int j = 0; j < N; ++j) acc[j] = C[std::size_t(j) * ldc + i];
    for (int p = 0; p < k; ++p) {
      const double a = A[std::size_t(p) * lda + i];
      for (int j = 0; j < N; ++j) acc[j] = std::fma(-a, B[std::size_t(p) * ldb + j], acc[j]);
    }
    for (int j = 0; j < N; ++j) C[std::size_t(j) * ldc + i] = acc[j];
  }
}

// a strip of N columns
template <int N>
inline void Strip(int m, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  int i = 0;
  for (; i + 12 <= m; i += 12) Tile<3, N>(k, A + i, lda, B, ldb, C + i, ldc);
  if (i + 8 <= m) {
    Tile<2, N>(k, A + i, lda, B, ldb, C + i, ldc);
    i += 8;
  }
  if (i + 4 <= m) {
    Tile<1, N>(k, A + i, lda, B, ldb, C + i, ldc);
    i += 4;
  }
  if (i < m) Rest<N>(m - i, k, A + i, lda, B, ldb, C + i, ldc);
}

inline void StripOf(int n, int m, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  switch (n) {
    case 4: return Strip<4>(m, k, A, lda, B, ldb, C, ldc);
    case 3: return Strip<3>(m, k, A, lda, B, ldb, C, ldc);
    case 2: return Strip<2>(m, k, A, lda, B, ldb, C, ldc);
    default: return Strip<1>(m, k, A, lda, B, ldb, C, ldc);
  }
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

constexpr int kPanel = 12;

}  // namespace

void SubtractProduct(int m, int n, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  if (m <= 0 || k <= 0) return;
  for (int j = 0; j < n; j += 4) {
    StripOf(std::min(4, n - j), m, k, A, lda, B + j, ldb, C + std::size_t(j) * ldc, ldc);
  }
}

void SubtractSymmetricProduct(int n, int k, const double* A, int lda, double* C, int ldc) {
  if (k <= 0) return;
  for (int j = 0; j < n; j += 4) {
    StripOf(std::min(4, n - j), n - j, k, A + j, lda, A + j, lda, C + std::size_t(j) * ldc + j, ldc);
  }
}

int FactorPanel(int n, int k, double* A, int lda) {
  for (int j = 0; j < k; j += kPanel) {
    const int width = std::min(kPanel, k - j);
    double* panel = A + std::size_t(j) * lda + j;
    const int failed = FactorNarrowPanel(n - j, width, panel, lda);
    if (failed >= 0) return j + failed;
    // the columns to the right, up to k, lower trapezoid only
    const int rest = k - j - width;
    const double* L = panel + width;
    for (int l = 0; l < rest; l += 4) {
      StripOf(std::min(4, rest - l), n - j - width - l, width, L + l, lda, L + l, lda,
              A + std::size_t(j + width + l) * lda + j + width + l, lda);
    }
  }
  return -1;
}

int FactorCholesky(int n, double* A, int lda) { return FactorPanel(n, n, A, lda); }

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

void SubtractTransposedMatrixVector(int m, int n, const double* A, int lda, const double* y, double* x) {
  for (int j = 0; j < n; ++j) x[j] -= Dot(m, A + std::size_t(j) * lda, y);
}

void MultiplySymmetric(int n, const double* A, int lda, const double* x, double* y) {
  for (int j = 0; j < n; ++j) y[j] = Dot(n, A + std::size_t(j) * lda, x);
}

double Dot(int n, const double* x, const double* y) {
  __m256d s0 = _mm256_setzero_pd(), s1 = _mm256_setzero_pd();
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    s0 = _mm256_fmadd_pd(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i), s0);
    s1 = _mm256_fmadd_pd(_mm256_loadu_pd(x + i + 4), _mm256_loadu_pd(y + i + 4), s1);
  }
  alignas(32) double lanes[8];
  _mm256_store_pd(lanes, s0);
  _mm256_store_pd(lanes + 4, s1);
  for (int l = 0; i < n; ++i, ++l) lanes[l] = std::fma(x[i], y[i], lanes[l]);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

}  // namespace pliant::solvers
