#pragma once

#include <span>

namespace pliant::physics {

// Sine and cosine of x [rad], |x| ≤ 1e5, within 2 ulp. Built from (fused) multiplications and
// additions alone, so the bits are the same on every machine; the C library picks its kernels by
// CPU.
struct SinCos {
  double sin;
  double cos;
};
SinCos CalcSinCos(double x);
// Sines and cosines of many angles, four at a time, bitwise the same as one by one.
void CalcSinCos(std::span<const double> x, std::span<SinCos> results);

// Angle of the point (x, y) in (−π, π] [rad]; 0 at the origin.
double CalcAtan2(double y, double x);

// Angle in [0, π] with this cosine; the cosine is clamped to [−1, 1].
double CalcAcos(double cosine);

inline constexpr double kPi = 3.14159265358979323846;

}  // namespace pliant::physics
