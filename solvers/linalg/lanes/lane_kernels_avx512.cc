#include <immintrin.h>

#include "solvers/linalg/lanes/lane_kernels.h"
#include "solvers/linalg/lanes/lane_kernels_tile.h"

namespace pliant::solvers {
namespace {

struct Vector8 {
  using Type = __m512d;
  static constexpr int kWidth = 8;
  static Type Load(const double* p) { return _mm512_load_pd(p); }
  static void Store(double* p, Type x) { _mm512_store_pd(p, x); }
  static Type Set(double x) { return _mm512_set1_pd(x); }
  static Type Zero() { return _mm512_setzero_pd(); }
  static Type Multiply(Type a, Type b) { return _mm512_mul_pd(a, b); }
  static Type Divide(Type a, Type b) { return _mm512_div_pd(a, b); }
  static Type SquareRoot(Type a) { return _mm512_sqrt_pd(a); }
  static Type MultiplyAdd(Type a, Type b, Type c) { return _mm512_fmadd_pd(a, b, c); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm512_fnmadd_pd(a, b, c); }
  static int FindNotPositive(Type a) {
    return _mm512_cmp_pd_mask(a, _mm512_setzero_pd(), _CMP_NGT_UQ);
  }
  static double RootOf(double x) { return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(x))); }
  static double Invert(double x) { return 1 / x; }
  static void LoadBlock(const double* const* values, std::size_t offset, Type* x) {
    Type r[8], s[8];
    for (int l = 0; l < 8; ++l) r[l] = _mm512_loadu_pd(values[l] + offset);
    // transpose pairs, then quarters, then halves
    for (int l = 0; l < 8; l += 2) {
      s[l] = _mm512_unpacklo_pd(r[l], r[l + 1]);
      s[l + 1] = _mm512_unpackhi_pd(r[l], r[l + 1]);
    }
    for (int l = 0; l < 8; l += 4) {
      for (int k = 0; k < 2; ++k) {
        r[l + k] = _mm512_shuffle_f64x2(s[l + k], s[l + k + 2], 0x88);
        r[l + k + 2] = _mm512_shuffle_f64x2(s[l + k], s[l + k + 2], 0xdd);
      }
    }
    // r[k] holds entries k and k + 4 of lanes 0 … 3, r[4 + k] those of lanes 4 … 7
    for (int k = 0; k < 4; ++k) {
      x[k] = _mm512_shuffle_f64x2(r[k], r[4 + k], 0x88);
      x[4 + k] = _mm512_shuffle_f64x2(r[k], r[4 + k], 0xdd);
    }
    const std::size_t last = offset + 8;
    x[8] = _mm512_setr_pd(values[0][last], values[1][last], values[2][last], values[3][last],
                          values[4][last], values[5][last], values[6][last], values[7][last]);
  }
};

}  // namespace

const LaneKernels kLaneKernelsAvx512 = {
    Factor<Vector8>,
    Solve<Vector8>,
    SolveColumns<Vector8>,
    UpdateSquare<Vector8, false>,
    UpdateSquare<Vector8, true>,
    FactorSquare<Vector8>,
    SolveSquare<Vector8>,
};

}  // namespace pliant::solvers
