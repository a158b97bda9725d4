#include <immintrin.h>

#include "solvers/linalg/trapezoid/trapezoid.h"
#include "solvers/linalg/trapezoid/trapezoid_tile.h"

namespace pliant::solvers {
namespace {

struct Vector4 {
  using Number = double;
  using Type = __m256d;
  static constexpr int kWidth = 4;
  static __m256i Mask(int n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Type Load(const double* p) { return _mm256_loadu_pd(p); }
  static Type LoadPart(const double* p, int n) {
    return n == kWidth ? Load(p) : _mm256_maskload_pd(p, Mask(n));
  }
  static void Store(double* p, Type x) { _mm256_storeu_pd(p, x); }
  static void StorePart(double* p, Type x, int n) {
    if (n == kWidth) return Store(p, x);
    _mm256_maskstore_pd(p, Mask(n), x);
  }
  static Type Broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm256_fnmadd_pd(a, b, c); }
};

struct Vector8Single {
  using Number = float;
  using Type = __m256;
  static constexpr int kWidth = 8;
  static __m256i Mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Type Load(const float* p) { return _mm256_loadu_ps(p); }
  static Type LoadPart(const float* p, int n) {
    return n == kWidth ? Load(p) : _mm256_maskload_ps(p, Mask(n));
  }
  static void Store(float* p, Type x) { _mm256_storeu_ps(p, x); }
  // in halves, because processors split masked stores
  static void StorePart(float* p, Type x, int n) {
    if (n == kWidth) return Store(p, x);
    __m128 rest = _mm256_castps256_ps128(x);
    if (n & 4) {
      _mm_storeu_ps(p, rest);
      p += 4;
      rest = _mm256_extractf128_ps(x, 1);
    }
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
      p += 2;
      rest = _mm_movehl_ps(rest, rest);
    }
    if (n & 1) _mm_store_ss(p, rest);
  }
  static Type Broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm256_fnmadd_ps(a, b, c); }
};

}  // namespace

void SubtractLowerTrapezoidAvx2(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector4, 4, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector4, 4, false>(m, n, k, A, lda, C, ldc);
}

void SubtractLowerTrapezoidAvx2(int m, int n, int k, const float* A, int lda, float* C, int ldc,
                                bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector8Single, 4, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector8Single, 4, false>(m, n, k, A, lda, C, ldc);
}

void SubtractProductAvx2(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                         double* C, int ldc, bool overwrite) {
  if (overwrite) return UpdateRectangle<Vector4, 4, true>(m, n, k, A, lda, B, ldb, C, ldc);
  UpdateRectangle<Vector4, 4, false>(m, n, k, A, lda, B, ldb, C, ldc);
}

}  // namespace pliant::solvers
