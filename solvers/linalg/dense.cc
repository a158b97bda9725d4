#include "solvers/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <immintrin.h>

namespace pliant::solvers {
namespace {

// C (4·R × N) −= A (4·R × k) Bᵀ. The accumulators are named one by one: as an array the compiler would store them in
// every round.
template <int R, int N>
inline void Tile(int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  using V = __m256d;
  const auto load = [&](int r, int j) {
    return r < R && j < N ? _mm256_loadu_pd(C + std::size_t(j) * ldc + 4 * r) : _mm256_setzero_pd();
  };
  const auto store = [&](int r, int j, V x) {
    if (r < R && j < N) _mm256_storeu_pd(C + std::size_t(j) * ldc + 4 * r, x);
  };
  V c00 = load(0, 0), c10 = load(1, 0), c20 = load(2, 0), c01 = load(0, 1), c11 = load(1, 1), c21 = load(2, 1);
  V c02 = load(0, 2), c12 = load(1, 2), c22 = load(2, 2), c03 = load(0, 3), c13 = load(1, 3), c23 = load(2, 3);
  const V zero = _mm256_setzero_pd();
  for (int p = 0; p < k; ++p) {
    const V a0 = _mm256_loadu_pd(A);
    const V a1 = R > 1 ? _mm256_loadu_pd(A + 4) : zero;
    const V a2 = R > 2 ? _mm256_loadu_pd(A + 8) : zero;
    const auto column = [&](int j, V& x0, V& x1, V& x2) {
      const V b = _mm256_broadcast_sd(B + j);
      x0 = _mm256_fnmadd_pd(a0, b, x0);
      if constexpr (R > 1) x1 = _mm256_fnmadd_pd(a1, b, x1);
      if constexpr (R > 2) x2 = _mm256_fnmadd_pd(a2, b, x2);
    };
    column(0, c00, c10, c20);
    if constexpr (N > 1) column(1, c01, c11, c21);
    if constexpr (N > 2) column(2, c02, c12, c22);
    if constexpr (N > 3) column(3, c03, c13, c23);
    A += lda;
    B += ldb;
  }
  store(0, 0, c00), store(1, 0, c10), store(2, 0, c20), store(0, 1, c01), store(1, 1, c11), store(2, 1, c21);
  store(0, 2, c02), store(1, 2, c12), store(2, 2, c22), store(0, 3, c03), store(1, 3, c13), store(2, 3, c23);
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

constexpr int kNarrow = 4;

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
  if (k <= kNarrow) return FactorNarrowPanel(n, k, A, lda);
  // left half, its update of the right half's lower trapezoid, right half
  const int left = (k / 2 + kNarrow - 1) / kNarrow * kNarrow;
  int failed = FactorPanel(n, left, A, lda);
  if (failed >= 0) return failed;
  double* right = A + std::size_t(left) * lda + left;
  const double* L = A + left;
  for (int l = 0; l < k - left; l += 4) {
    StripOf(std::min(4, k - left - l), n - left - l, left, L + l, lda, L + l, lda,
            right + std::size_t(l) * lda + l, lda);
  }
  failed = FactorPanel(n - left, k - left, right, lda);
  return failed < 0 ? -1 : left + failed;
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
