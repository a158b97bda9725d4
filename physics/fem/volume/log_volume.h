#pragma once

namespace pliant::physics {

// The logarithm of a ratio of volumes, and what laws need beside it.
struct VolumeLog {
  double value;      // ln r
  double slope;      // 1/r
  double curvature;  // −1/r²
  double integral;   // of the value from 1: r ln r − r + 1
};

// Below kMinVolumeRatio, where a trial on the way to a solution may lead and no solution lies, a
// parabola with the same value and derivatives continues the logarithm, so that everything is
// finite.
inline constexpr double kMinVolumeRatio = 1e-3;
VolumeLog CalcVolumeLog(double ratio);

}  // namespace pliant::physics
