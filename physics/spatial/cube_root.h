#pragma once

namespace pliant::physics {

// Cube root of x > 0, bitwise the same on every machine.
double CalcCubeRoot(double x);

}  // namespace pliant::physics
