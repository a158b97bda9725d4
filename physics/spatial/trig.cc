#include "physics/spatial/trig.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pliant::physics {
namespace {

// Taylor series on |r| ≤ π/4; the first neglected term is below 2^-56 of the result
double SinSeries(double r) {
  const double z = r * r;
  double sum = 0;
  for (int k = 8; k >= 1; --k) sum = (1 + sum) * (-z / ((2 * k) * (2 * k + 1)));
  return r + r * sum;
}

double CosSeries(double r) {
  const double z = r * r;
  double sum = 0;
  for (int k = 9; k >= 1; --k) sum = (1 + sum) * (-z / ((2 * k - 1) * (2 * k)));
  return 1 + sum;
}

// Arctangent of t in [0, 1]: shift by π/4 and π/8 until the series of 13 terms is exact
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
  // π/2 in three parts of 33 bits: k times a part is exact for |k| < 2^20
  constexpr double kHigh = 1.57079632673412561417e+00;
  constexpr double kMiddle = 6.07710050630396597660e-11;
  constexpr double kLow = 2.02226624879595063154e-21;
  const double k = std::nearbyint(x / (kPi / 2));
  const double r = ((x - k * kHigh) - k * kMiddle) - k * kLow;
  const double s = SinSeries(r);
  const double c = CosSeries(r);
  switch (static_cast<std::int64_t>(k) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
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
