#include "physics/spatial/trig.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <immintrin.h>

namespace pliant::physics {
namespace {

using Lanes = double __attribute__((vector_size(32)));

double MultiplyAdd(double a, double b, double c) {
  return std::fma(a, b, c);
}
Lanes MultiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm256_fmadd_pd(a, b, c);
}

// c_0 + z (c_1 + z (c_2 + …))
template <class Number, std::size_t n>
Number Polynomial(Number z, const double (&c)[n]) {
  Number sum = Number{} + c[n - 1];
  for (std::size_t k = n - 1; k-- > 0;) sum = MultiplyAdd(z, sum, Number{} + c[k]);
  return sum;
}

// Taylor series on |r| ≤ π/4; the first neglected term is below 2^-56 of the result.
template <class Number>
Number SinSeries(Number r) {
  constexpr double kInverseFactorials[] = {
      -1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  const Number z = r * r;
  return MultiplyAdd(r * z, Polynomial(z, kInverseFactorials), r);
}

template <class Number>
Number CosSeries(Number r) {
  constexpr double kInverseFactorials[] = {
      1.0 / 24,        -1.0 / 720,         1.0 / 40320,         -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888e3, -1.0 / 6402373705728e3};
  const Number z = r * r;
  // add back the rounding error of 1 − z/2
  const Number half = 0.5 * z;
  const Number head = 1.0 - half;
  return head + MultiplyAdd(z * z, Polynomial(z, kInverseFactorials), (1.0 - head) - half);
}

// Remainder r of x = quarters · π/2 + r. The first two of the three parts of π/2 have at most 33
// bits, so their products with |quarters| < 2^20 are exact.
template <class Number>
Number Reduce(Number x, Number quarters) {
  constexpr double kHigh = 1.57079632673412561417e+00;
  constexpr double kMiddle = 6.07710050630396597660e-11;
  constexpr double kLow = 2.02226624879595063154e-21;
  return ((x - quarters * kHigh) - quarters * kMiddle) - quarters * kLow;
}

double CountQuarters(double x) {
  return std::nearbyint(x * (2 / kPi));
}

SinCos TurnByQuarters(double quarters, double s, double c) {
  const auto k = static_cast<std::int64_t>(quarters);
  const bool swap = (k & 1) != 0;
  const double sin = swap ? c : s;
  const double cos = swap ? s : c;
  return {(k & 2) != 0 ? -sin : sin, ((k + 1) & 2) != 0 ? -cos : cos};
}

// Arctangent of t in [0, 1]: shifts by π/4 and π/8 reduce t until 13 terms of the series suffice.
double AtanUnit(double t) {
  constexpr double kTan8 = 0.41421356237309503;
  constexpr double kTan16 = 0.19891236737965800;
  double base = 0;
  if (t > kTan8) {
    base = kPi / 4;
    t = (t - 1) / (t + 1);
  }
  if (std::abs(t) > kTan16) {
    const double sign = t < 0 ? -1 : 1;
    base += sign * kPi / 8;
    t = (t - sign * kTan8) / (1 + sign * kTan8 * t);
  }
  const double z = t * t;
  double sum = 0;
  for (int k = 13; k >= 1; --k) sum = z * ((k % 2 == 1 ? -1.0 : 1.0) / (2 * k + 1) + sum);
  return base + (t + t * sum);
}

}  // namespace

SinCos CalcSinCos(double x) {
  const double quarters = CountQuarters(x);
  const double r = Reduce(x, quarters);
  return TurnByQuarters(quarters, SinSeries(r), CosSeries(r));
}

void CalcSinCos(std::span<const double> x, std::span<SinCos> results) {
  for (std::size_t first = 0; first < x.size(); first += 4) {
    const std::size_t count = std::min<std::size_t>(4, x.size() - first);
    Lanes angles = {};
    Lanes quarters = {};
    for (std::size_t k = 0; k < count; ++k) angles[k] = x[first + k];
    for (int k = 0; k < 4; ++k) quarters[k] = CountQuarters(angles[k]);
    const Lanes r = Reduce(angles, quarters);
    const Lanes s = SinSeries(r);
    const Lanes c = CosSeries(r);
    for (std::size_t k = 0; k < count; ++k)
      results[first + k] = TurnByQuarters(quarters[k], s[k], c[k]);
  }
}

double CalcAtan2(double y, double x) {
  const double ax = std::abs(x);
  const double ay = std::abs(y);
  if (ax == 0 && ay == 0) return 0;
  double angle = ay <= ax ? AtanUnit(ay / ax) : kPi / 2 - AtanUnit(ax / ay);
  if (x < 0) angle = kPi - angle;
  return y < 0 ? -angle : angle;
}

double CalcAcos(double cosine) {
  const double c = std::clamp(cosine, -1.0, 1.0);
  return CalcAtan2(std::sqrt((1 - c) * (1 + c)), c);
}

}  // namespace pliant::physics
