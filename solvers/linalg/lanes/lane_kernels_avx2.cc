#include <immintrin.h>

#include "solvers/linalg/lanes/lane_kernels.h"
#include "solvers/linalg/lanes/lane_kernels_tile.h"

namespace pliant::solvers {
namespace {

struct Vector4 {
  using Type = __m256d;
  static constexpr int kWidth = 4;
  static Type Load(const double* p) { return _mm256_load_pd(p); }
  static void Store(double* p, Type x) { _mm256_store_pd(p, x); }
  static Type Set(double x) { return _mm256_set1_pd(x); }
  static Type Zero() { return _mm256_setzero_pd(); }
  static Type Multiply(Type a, Type b) { return _mm256_mul_pd(a, b); }
  static Type Divide(Type a, Type b) { return _mm256_div_pd(a, b); }
  static Type SquareRoot(Type a) { return _mm256_sqrt_pd(a); }
  static Type MultiplyAdd(Type a, Type b, Type c) { return _mm256_fmadd_pd(a, b, c); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm256_fnmadd_pd(a, b, c); }
  static int FindNotPositive(Type a) {
    return _mm256_movemask_pd(_mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_NGT_UQ));
  }
  static double RootOf(double x) { return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(x))); }
  static double Invert(double x) { return 1 / x; }
  static void LoadBlock(const double* const* values, std::size_t offset, Type* x) {
    for (int half = 0; half < 8; half += 4) {
      Type r[4];
      for (int l = 0; l < 4; ++l) r[l] = _mm256_loadu_pd(values[l] + offset + half);
      const Type low0 = _mm256_unpacklo_pd(r[0], r[1]), high0 = _mm256_unpackhi_pd(r[0], r[1]);
      const Type low1 = _mm256_unpacklo_pd(r[2], r[3]), high1 = _mm256_unpackhi_pd(r[2], r[3]);
      x[half] = _mm256_permute2f128_pd(low0, low1, 0x20);
      x[half + 1] = _mm256_permute2f128_pd(high0, high1, 0x20);
      x[half + 2] = _mm256_permute2f128_pd(low0, low1, 0x31);
      x[half + 3] = _mm256_permute2f128_pd(high0, high1, 0x31);
    }
    const std::size_t last = offset + 8;
    x[8] = _mm256_setr_pd(values[0][last], values[1][last], values[2][last], values[3][last]);
  }
};

}  // namespace

const LaneKernels kLaneKernelsAvx2 = {
    Factor<Vector4>,
    Solve<Vector4>,
    SolveColumns<Vector4>,
    UpdateSquare<Vector4, false>,
    UpdateSquare<Vector4, true>,
    FactorSquare<Vector4>,
    SolveSquare<Vector4>,
};

}  // namespace pliant::solvers
