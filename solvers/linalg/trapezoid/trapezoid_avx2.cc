#include <immintrin.h>

#include "solvers/linalg/trapezoid/trapezoid.h"
#include "solvers/linalg/trapezoid/trapezoid_tile.h"

namespace pliant::solvers {
namespace {

struct Vector4 {
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

}  // namespace

void SubtractLowerTrapezoidAvx2(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector4, 4, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector4, 4, false>(m, n, k, A, lda, C, ldc);
}

void SubtractProductAvx2(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                         double* C, int ldc, bool overwrite) {
  if (overwrite) return UpdateRectangle<Vector4, 4, true>(m, n, k, A, lda, B, ldb, C, ldc);
  UpdateRectangle<Vector4, 4, false>(m, n, k, A, lda, B, ldb, C, ldc);
}

}  // namespace pliant::solvers
