#include <immintrin.h>

#include "solvers/linalg/trapezoid/trapezoid.h"
#include "solvers/linalg/trapezoid/trapezoid_tile.h"

namespace pliant::solvers {
namespace {

struct Vector8 {
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

}  // namespace

void SubtractLowerTrapezoidAvx512(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                  bool overwrite) {
  if (overwrite) return UpdateTrapezoid<Vector8, 8, true>(m, n, k, A, lda, C, ldc);
  UpdateTrapezoid<Vector8, 8, false>(m, n, k, A, lda, C, ldc);
}

void SubtractProductAvx512(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                           double* C, int ldc, bool overwrite) {
  if (overwrite) return UpdateRectangle<Vector8, 8, true>(m, n, k, A, lda, B, ldb, C, ldc);
  UpdateRectangle<Vector8, 8, false>(m, n, k, A, lda, B, ldb, C, ldc);
}

}  // namespace pliant::solvers
