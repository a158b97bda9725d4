#pragma once

namespace pliant::physics {

// Logarithm of a volume ratio r, with its derivatives and its integral.
struct VolumeLog {
  double value;      // ln r
  double slope;      // 1/r
  double curvature;  // −1/r²
  double integral;   // of the value from 1: r ln r − r + 1
};

// Below kMinVolumeRatio, a parabola with the same value and derivatives continues the logarithm, so
// that the iterates of a solver have finite energies. Solutions lie above.
inline constexpr double kMinVolumeRatio = 1e-3;
VolumeLog CalcVolumeLog(double ratio);

}  // namespace pliant::physics
