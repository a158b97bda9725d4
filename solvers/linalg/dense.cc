#include "solvers/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <immintrin.h>

#include "solvers/linalg/parallel.h"
#include "solvers/linalg/trapezoid/trapezoid.h"
#include "solvers/linalg/vector_of.h"

namespace pliant::solvers {
namespace {

// Multiply-adds above which several threads pay off, and the minimum for each part.
constexpr double kMinParallelWork = 4e6, kMinPart = 5e5;
constexpr int kMaxParts = 16, kWholeStrip = 8;

template <typename T>
using TrapezoidKernel = void (*)(int, int, int, const T*, int, T*, int, bool);

// Runs the widest kernel that the CPU supports. A large trapezoid is cut into strips of columns of
// about the same area, which run in parallel; the cuts do not change the sum of any element.
template <typename T>
void Trapezoid(int m, int n, int k, const T* A, int lda, T* C, int ldc, bool overwrite) {
  constexpr TrapezoidKernel<T> kAvx2 = &SubtractLowerTrapezoidAvx2;
  constexpr TrapezoidKernel<T> kAvx512 = &SubtractLowerTrapezoidAvx512;
  static const TrapezoidKernel<T> kernel = __builtin_cpu_supports("avx512f") ? kAvx512 : kAvx2;
  const double area = n * (m - 0.5 * n), work = area * k;
  if (work < kMinParallelWork || CountThreads() == 1)
    return kernel(m, n, k, A, lda, C, ldc, overwrite);
  const int count = static_cast<int>(std::min<double>(kMaxParts, work / kMinPart));
  // number of columns with `part` of the `count` equal areas
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

using ProductKernel = void (*)(int, int, int, const double*, int, const double*, int, double*, int,
                               bool);

// Likewise for C −= A Bᵀ, in strips of columns of the same width.
void Product(int m, int n, int k, const double* A, int lda, const double* B, int ldb, double* C,
             int ldc, bool overwrite) {
  constexpr ProductKernel kAvx2 = &SubtractProductAvx2;
  constexpr ProductKernel kAvx512 = &SubtractProductAvx512;
  static const ProductKernel kernel = __builtin_cpu_supports("avx512f") ? kAvx512 : kAvx2;
  const double work = double(m) * n * k;
  if (work < kMinParallelWork || CountThreads() == 1)
    return kernel(m, n, k, A, lda, B, ldb, C, ldc, overwrite);
  const int count = static_cast<int>(std::min<double>(kMaxParts, work / kMinPart));
  const auto cut = [&](int part) {
    return part == count ? n : int(double(n) * part / count) / kWholeStrip * kWholeStrip;
  };
  ParallelForWithin(count, 1, [&](int part) {
    const int begin = cut(part), end = cut(part + 1);
    if (begin == end) return;
    kernel(m, end - begin, k, A, lda, B + begin, ldb, C + std::size_t(begin) * ldc, ldc, overwrite);
  });
}

constexpr int kNarrow = 4;
constexpr int kMaxNarrowRows = 48;  // rows up to which the wide kernel does not pay

// y ← y − A x or y ← A x for as many rows as fill kVectors SIMD registers.
template <int kVectors, bool kSubtract, typename T>
void MultiplyRows(int n, const T* A, int lda, const T* x, T* y) {
  using V = VectorOf<T>;
  typename V::Type sum[kVectors];
  for (int r = 0; r < kVectors; ++r) sum[r] = kSubtract ? V::Load(y + V::kWidth * r) : V::Zero();
  for (int j = 0; j < n; ++j, A += lda) {
    const typename V::Type value = V::Broadcast(x + j);
    for (int r = 0; r < kVectors; ++r) {
      const typename V::Type a = V::Load(A + V::kWidth * r);
      sum[r] =
          kSubtract ? V::NegativeMultiplyAdd(a, value, sum[r]) : V::MultiplyAdd(a, value, sum[r]);
    }
  }
  for (int r = 0; r < kVectors; ++r) V::Store(y + V::kWidth * r, sum[r]);
}

// The same for fewer rows than two registers hold.
template <bool kSubtract, typename T>
void MultiplyLastRows(int rows, int n, const T* A, int lda, const T* x, T* y) {
  using V = VectorOf<T>;
  constexpr int kWidth = V::kWidth;
  const typename V::Mask mask = V::First(rows), mask_beyond = V::First(rows - kWidth);
  typename V::Type sum = V::Zero(), beyond = sum;
  if (kSubtract) {
    sum = V::LoadFirst(y, mask);
    beyond = V::LoadFirst(y + kWidth, mask_beyond);
  }
  for (int j = 0; j < n; ++j, A += lda) {
    const typename V::Type value = V::Broadcast(x + j);
    const typename V::Type a = V::LoadFirst(A, mask), b = V::LoadFirst(A + kWidth, mask_beyond);
    sum = kSubtract ? V::NegativeMultiplyAdd(a, value, sum) : V::MultiplyAdd(a, value, sum);
    beyond =
        kSubtract ? V::NegativeMultiplyAdd(b, value, beyond) : V::MultiplyAdd(b, value, beyond);
  }
  if (rows < kWidth) return V::StoreFirst(y, rows, sum);
  V::Store(y, sum);
  V::StoreFirst(y + kWidth, rows - kWidth, beyond);
}

template <bool kSubtract, typename T>
void Multiply(int m, int n, const T* A, int lda, const T* x, T* y) {
  constexpr int kFewRows = 2 * VectorOf<T>::kWidth, kManyRows = 4 * kFewRows;
  int i = 0;
  for (; i + kManyRows <= m; i += kManyRows) MultiplyRows<8, kSubtract>(n, A + i, lda, x, y + i);
  for (; i + kFewRows <= m; i += kFewRows) MultiplyRows<2, kSubtract>(n, A + i, lda, x, y + i);
  if (i < m) MultiplyLastRows<kSubtract>(m - i, n, A + i, lda, x, y + i);
}

// Dot products of y and up to four columns, each summed in the same lanes as for one column.
template <int kColumns, typename T>
typename VectorOf<T>::Four DotColumns(int n, const T* A, int lda, const T* y) {
  using V = VectorOf<T>;
  constexpr int kWidth = V::kWidth;
  typename V::Type even[4], odd[4];
  for (int c = 0; c < 4; ++c) even[c] = odd[c] = V::Zero();
  int i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const typename V::Type y0 = V::Load(y + i), y1 = V::Load(y + i + kWidth);
    for (int c = 0; c < kColumns; ++c) {
      const T* column = A + std::size_t(c) * lda + i;
      even[c] = V::MultiplyAdd(V::Load(column), y0, even[c]);
      odd[c] = V::MultiplyAdd(V::Load(column + kWidth), y1, odd[c]);
    }
  }
  if (i < n) {
    // the remainder goes into the first lanes
    const typename V::Mask mask = V::First(n - i), mask_beyond = V::First(n - i - kWidth);
    const typename V::Type y0 = V::LoadFirst(y + i, mask),
                           y1 = V::LoadFirst(y + i + kWidth, mask_beyond);
    for (int c = 0; c < kColumns; ++c) {
      const T* column = A + std::size_t(c) * lda + i;
      even[c] = V::MultiplyAdd(V::LoadFirst(column, mask), y0, even[c]);
      odd[c] = V::MultiplyAdd(V::LoadFirst(column + kWidth, mask_beyond), y1, odd[c]);
    }
  }
  for (int c = 0; c < kColumns; ++c) even[c] = V::Add(even[c], odd[c]);
  return V::SumLanes(even);
}

template <int kColumns, typename T>
void SubtractDotsOf(int m, const T* A, int lda, const T* y, T* x) {
  T sums[4];
  VectorOf<T>::StoreFour(sums, DotColumns<kColumns>(m, A, lda, y));
  for (int c = 0; c < kColumns; ++c) x[c] -= sums[c];
}

// Solves for as many rows below a triangle L as fill a SIMD register.
template <int k, typename T, typename Load, typename Store>
void SolveRows(const T (&L)[k][k], const T (&inverse)[k], T* A, int lda, const Load& load,
               const Store& store) {
  using V = VectorOf<T>;
  typename V::Type rows[k];
  for (int j = 0; j < k; ++j) {
    T* place = A + std::size_t(j) * lda;
    rows[j] = load(place);
    for (int l = 0; l < j; ++l) rows[j] = V::NegativeMultiplyAdd(V::Set(L[j][l]), rows[l], rows[j]);
    rows[j] = V::Multiply(rows[j], V::Set(inverse[j]));
    store(place, rows[j]);
  }
}

// Factors a few columns: their triangle, then the rows below it.
template <int k, typename T>
int FactorColumns(int n, T* A, int lda) {
  using V = VectorOf<T>;
  T inverse[k] = {}, L[k][k] = {};
  for (int j = 0; j < k; ++j) {
    T* column = A + std::size_t(j) * lda;
    if (!(column[j] > 0)) return j;
    // the next pivot does not depend on this square root
    const T of_pivot = 1 / column[j];
    for (int l = j + 1; l < k; ++l) {
      T* other = A + std::size_t(l) * lda;
      const T factor = column[l] * of_pivot;
      for (int i = l; i < k; ++i) other[i] = std::fma(-factor, column[i], other[i]);
    }
    const T root = std::sqrt(column[j]);
    inverse[j] = 1 / root;
    column[j] = root;
    for (int i = j + 1; i < k; ++i) L[i][j] = column[i] *= inverse[j];
  }
  int i = k;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    SolveRows(
        L, inverse, A + i, lda, [](const T* p) { return V::Load(p); },
        [](T* p, typename V::Type x) { V::Store(p, x); });
  }
  if (i == n) return -1;
  const typename V::Mask mask = V::First(n - i);
  SolveRows(
      L, inverse, A + i, lda, [&](const T* p) { return V::LoadFirst(p, mask); },
      [&](T* p, typename V::Type x) { V::StoreFirst(p, n - i, x); });
  return -1;
}

// Factors up to eight columns.
template <typename T>
int FactorNarrowPanel(int n, int k, T* A, int lda) {
  static constexpr int (*kKernels[])(int, T*, int) = {
      &FactorColumns<1, T>, &FactorColumns<2, T>, &FactorColumns<3, T>, &FactorColumns<4, T>,
      &FactorColumns<5, T>, &FactorColumns<6, T>, &FactorColumns<7, T>, &FactorColumns<8, T>};
  return k > 0 ? kKernels[k - 1](n, A, lda) : -1;
}

template <typename T>
int FactorAnyPanel(int n, int k, T* A, int lda) {
  if (k <= kNarrow || (k <= 2 * kNarrow && n <= kMaxNarrowRows))
    return FactorNarrowPanel(n, k, A, lda);
  // factor the left half, update the right half's lower trapezoid, factor the right half
  const int left = (k / 2 + kNarrow - 1) / kNarrow * kNarrow;
  int failed = FactorAnyPanel(n, left, A, lda);
  if (failed >= 0) return failed;
  T* right = A + std::size_t(left) * lda + left;
  SubtractLowerTrapezoid(n - left, k - left, left, A + left, lda, right, lda);
  failed = FactorAnyPanel(n - left, k - left, right, lda);
  return failed < 0 ? -1 : left + failed;
}

template <typename T>
void SolveForward(int n, const T* L, int ldl, T* x) {
  for (int first = 0; first < n; first += kNarrow) {
    const T* corner = L + std::size_t(first) * (ldl + 1);
    const int count = std::min(kNarrow, n - first);
    T* of_block = x + first;
    for (int j = 0; j < count; ++j) {
      const T* column = corner + std::size_t(j) * ldl;
      // the division does not depend on earlier results
      of_block[j] *= 1 / column[j];
      for (int i = j + 1; i < count; ++i)
        of_block[i] = std::fma(-column[i], of_block[j], of_block[i]);
    }
    Multiply<true>(n - first - count, count, corner + count, ldl, of_block, of_block + count);
  }
}

template <typename T>
void SubtractDots(int m, int n, const T* A, int lda, const T* y, T* x) {
  if (m == 0) return;
  for (; n >= 4; n -= 4, A += 4 * std::size_t(lda), x += 4) SubtractDotsOf<4>(m, A, lda, y, x);
  if (n == 3) SubtractDotsOf<3>(m, A, lda, y, x);
  if (n == 2) SubtractDotsOf<2>(m, A, lda, y, x);
  if (n == 1) SubtractDotsOf<1>(m, A, lda, y, x);
}

template <typename T>
void SolveBackward(int n, const T* L, int ldl, T* x) {
  for (int first = (n - 1) / kNarrow * kNarrow; first >= 0; first -= kNarrow) {
    const T* corner = L + std::size_t(first) * (ldl + 1);
    const int count = std::min(kNarrow, n - first);
    T* of_block = x + first;
    SubtractDots(n - first - count, count, corner + count, ldl, of_block + count, of_block);
    for (int j = count - 1; j >= 0; --j) {
      const T* column = corner + std::size_t(j) * ldl;
      for (int i = count - 1; i > j; --i)
        of_block[j] = std::fma(-column[i], of_block[i], of_block[j]);
      of_block[j] *= 1 / column[j];
    }
  }
}

// Computes several compliances at once, which hides the latency of each.
template <int kCount>
void CalcCompliances(int n, const double* L, int ldl, const double* const (&J)[kCount], double* X,
                     double* const (&W)[kCount]) {
  // a column of J and a row of X = L⁻¹ Jᵀ fill three lanes each
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

void SubtractLowerTrapezoid(int m, int n, int k, const float* A, int lda, float* C, int ldc) {
  if (k > 0) Trapezoid(m, n, k, A, lda, C, ldc, false);
}

void NegateLowerTrapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc) {
  Trapezoid(m, n, k, A, lda, C, ldc, true);
}

void SubtractProduct(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                     double* C, int ldc) {
  if (k > 0 && n > 0) Product(m, n, k, A, lda, B, ldb, C, ldc, false);
}

void NegateProduct(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                   double* C, int ldc) {
  if (n > 0) Product(m, n, k, A, lda, B, ldb, C, ldc, true);
}

void NegateLowerTrapezoid(int m, int n, int k, const float* A, int lda, float* C, int ldc) {
  Trapezoid(m, n, k, A, lda, C, ldc, true);
}

int FactorPanel(int n, int k, double* A, int lda) {
  return FactorAnyPanel(n, k, A, lda);
}

int FactorPanel(int n, int k, float* A, int lda) {
  return FactorAnyPanel(n, k, A, lda);
}

int FactorCholesky(int n, double* A, int lda) {
  return FactorPanel(n, n, A, lda);
}

void SolveLower(int n, const double* L, int ldl, double* x) {
  SolveForward(n, L, ldl, x);
}

void SolveLower(int n, const float* L, int ldl, float* x) {
  SolveForward(n, L, ldl, x);
}

void SolveLowerTransposed(int n, const double* L, int ldl, double* x) {
  SolveBackward(n, L, ldl, x);
}

void SolveLowerTransposed(int n, const float* L, int ldl, float* x) {
  SolveBackward(n, L, ldl, x);
}

void SubtractMatrixVector(int m, int n, const double* A, int lda, const double* x, double* y) {
  Multiply<true>(m, n, A, lda, x, y);
}

void SubtractMatrixVector(int m, int n, const float* A, int lda, const float* x, float* y) {
  Multiply<true>(m, n, A, lda, x, y);
}

void SubtractTransposedMatrixVector(int m, int n, const double* A, int lda, const double* y,
                                    double* x) {
  SubtractDots(m, n, A, lda, y, x);
}

void SubtractTransposedMatrixVector(int m, int n, const float* A, int lda, const float* y,
                                    float* x) {
  SubtractDots(m, n, A, lda, y, x);
}

void MultiplySymmetric(int n, const double* A, int lda, const double* x, double* y) {
  if (n <= kMaxNarrowRows) return Multiply<false>(n, n, A, lda, x, y);
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
  return _mm256_cvtsd_f64(DotColumns<1>(n, x, n, y));
}

}  // namespace pliant::solvers
