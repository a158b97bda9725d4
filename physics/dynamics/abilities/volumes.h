#pragma once

#include <span>

#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// A block with matter in closed volumes, whose pressure follows from the volume (larionov2023
// §III-D): gas in a cavity, or a region that is nearly incompressible.
class VolumeSet {
 public:
  virtual ~VolumeSet() = default;
  virtual int num_volumes() const = 0;
  // Pressure above that outside [Pa].
  virtual double CalcPressure(const BlockState& state, int volume) const = 0;
  virtual double CalcEnclosedVolume(const BlockState& state, int volume) const = 0;  // [m³]
  // Pressure at the rest volume, which inputs set [Pa].
  virtual double gauge_pressure(const BlockState& state, int volume) const = 0;
};

}  // namespace pliant::physics
