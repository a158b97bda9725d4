#include <immintrin.h>

#include "solvers/linalg/trapezoid/trapezoid.h"
#include "solvers/linalg/trapezoid/trapezoid_tile.h"

namespace pliant::solvers {
namespace {

struct Vector8 {
  using Number = double;
  using Type = __m512d;
  static constexpr int kWidth = 8;
  static __mmask8 Mask(int n) { return static_cast<__mmask8>((1u << n) - 1); }
  static Type Load(const double* p) { return _mm512_loadu_pd(p); }
  static Type LoadPart(const double* p, int n) { return _mm512_maskz_loadu_pd(Mask(n), p); }
  static void Store(double* p, Type x) { _mm512_storeu_pd(p, x); }
  static void StorePart(double* p, Type x, int n) { _mm512_mask_storeu_pd(p, Mask(n), x); }
  static Type Broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm512_fnmadd_pd(a, b, c); }
};

struct Vector16Single {
  using Number = float;
  using Type = __m512;
  static constexpr int kWidth = 16;
  static __mmask16 Mask(int n) { return static_cast<__mmask16>((1u << n) - 1); }
  static Type Load(const float* p) { return _mm512_loadu_ps(p); }
  static Type LoadPart(const float* p, int n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  static void Store(float* p, Type x) { _mm512_storeu_ps(p, x); }
  static void StorePart(float* p, Type x, int n) { _mm512_mask_storeu_ps(p, Mask(n), x); }
  static Type Broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm512_fnmadd_ps(a, b, c); }
};

}  // namespace

void SubtractLowerTrapezoidAvx512(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                  bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector8, 8, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector8, 8, false>(m, n, k, A, lda, C, ldc);
}

void SubtractLowerTrapezoidAvx512(int m, int n, int k, const float* A, int lda, float* C, int ldc,
                                  bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector16Single, 8, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector16Single, 8, false>(m, n, k, A, lda, C, ldc);
}

void SubtractProductAvx512(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                           double* C, int ldc, bool overwrite) {
  if (overwrite) return UpdateRectangle<Vector8, 8, true>(m, n, k, A, lda, B, ldb, C, ldc);
  UpdateRectangle<Vector8, 8, false>(m, n, k, A, lda, B, ldb, C, ldc);
}

}  // namespace pliant::solvers
