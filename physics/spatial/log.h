#pragma once

#include <span>

namespace pliant::physics {

// Natural logarithm of x within 1 ulp; −∞ at 0, NaN below. Built from (fused) multiplications,
// additions and one division, so the bits are the same on every machine; the C library picks its
// kernels by CPU.
double CalcLog(double x);
// Logarithms of many numbers, four at a time, bitwise the same as one by one.
void CalcLog(std::span<const double> x, std::span<double> results);

}  // namespace pliant::physics
