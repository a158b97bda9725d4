#include "physics/dynamics/block.h"

#include <cmath>

namespace pliant::physics {

bool DynamicsBlock::IsAtRest(const BlockState& state, double speed) const {
  for (const double v : state.v)
    if (!(std::abs(v) <= speed)) return false;
  return !is_prescribed();
}

}  // namespace pliant::physics
