#pragma once

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

inline constexpr double kLifts = 0.25;        // time from which the pads rise steadily [s]
inline constexpr double kRises = 0.1 / 0.55;  // their speed [m/s]

// Slip of the bowl down the pads from kLifts until time t [m].
inline double CalcSlip(double t, World* world) {
  RunUntil(kLifts, world);
  const double start = ReadVector(*world, "bowl_position").z();
  RunUntil(t, world);
  return start + kRises * (t - kLifts) - ReadVector(*world, "bowl_position").z();
}

}  // namespace pliant::physics
