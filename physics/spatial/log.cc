#include "physics/spatial/log.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <limits>

namespace pliant::physics {
namespace {

using LogLanes = double __attribute__((vector_size(32)));

double MultiplyAddOf(double a, double b, double c) {
  return std::fma(a, b, c);
}
LogLanes MultiplyAddOf(LogLanes a, LogLanes b, LogLanes c) {
  return _mm256_fmadd_pd(a, b, c);
}

// x = 2^exponent · (1 + f) with 1 + f in [√½, √2).
struct Split {
  double exponent, f;
};

Split SplitExponent(double x) {
  constexpr double kTwoTo54 = 18014398509481984.0, kRootOfHalf = 0.70710678118654752440;
  double exponent = 0;
  if (x < std::numeric_limits<double>::min()) {  // subnormal
    x *= kTwoTo54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<double>(static_cast<int>(bits >> 52) - 1022);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);
  if (m < kRootOfHalf) {
    m *= 2;
    exponent -= 1;
  }
  return {exponent, m - 1};
}

// exponent · ln 2 + ln(1 + f). With s = f / (2 + f), ln(1 + f) = 2 s + Σ 2 s^(2k+1) / (2k + 1) =
// f − f²/2 + s (f²/2 + Σ 2 z^k / (2k + 1)) with z = s² ≤ 0.0295; the first neglected term is below
// 2^-56 of the result. The high part of ln 2 has 32 bits, so its products are exact.
template <class Number>
Number LogSeries(Number exponent, Number f) {
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  constexpr double kTerms[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                               2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  constexpr std::size_t kCount = sizeof kTerms / sizeof kTerms[0];
  const Number s = f / (2.0 + f), z = s * s;
  Number sum = Number{} + kTerms[kCount - 1];
  for (std::size_t k = kCount - 1; k-- > 0;) sum = MultiplyAddOf(z, sum, Number{} + kTerms[k]);
  const Number half = 0.5 * f * f;
  const Number tail = MultiplyAddOf(s, half + z * sum, exponent * kLow);
  return exponent * kHigh - ((half - tail) - f);
}

bool IsOrdinary(double x) {
  return x > 0 && x <= std::numeric_limits<double>::max();
}

double LogOfOther(double x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double CalcLog(double x) {
  if (!IsOrdinary(x)) return LogOfOther(x);
  const Split split = SplitExponent(x);
  return LogSeries(split.exponent, split.f);
}

void CalcLog(std::span<const double> x, std::span<double> results) {
  std::size_t i = 0;
  for (; i + 4 <= x.size(); i += 4) {
    LogLanes exponent, f;
    bool is_ordinary = true;
    for (int l = 0; l < 4; ++l) {
      const double value = x[i + l];
      is_ordinary = is_ordinary && IsOrdinary(value);
      const Split split = SplitExponent(value);
      exponent[l] = split.exponent;
      f[l] = split.f;
    }
    if (is_ordinary) {
      _mm256_storeu_pd(&results[i], LogSeries(exponent, f));
    } else {
      for (int l = 0; l < 4; ++l) results[i + l] = CalcLog(x[i + l]);
    }
  }
  for (; i < x.size(); ++i) results[i] = CalcLog(x[i]);
}

}  // namespace pliant::physics
