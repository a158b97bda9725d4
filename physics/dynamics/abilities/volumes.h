#pragma once

#include <span>

#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// A block with closed volumes whose pressure is a function of the volume (larionov2023 §III-D): gas
// in a cavity, or a nearly incompressible region.
class VolumeSet {
 public:
  virtual ~VolumeSet() = default;
  virtual int num_volumes() const = 0;
  // Gauge pressure [Pa].
  virtual double CalcPressure(const BlockState& state, int volume) const = 0;
  virtual double CalcEnclosedVolume(const BlockState& state, int volume) const = 0;  // [m³]
  // Gauge pressure at the rest volume, which inputs set [Pa].
  virtual double gauge_pressure(const BlockState& state, int volume) const = 0;
};

}  // namespace pliant::physics
