#pragma once

#include <span>
#include <utility>
#include <vector>

#include "physics/geometry/shape.h"

namespace pliant::physics {

// Pairs (i, j), i < j, of boxes that overlap, ascending. Sweeps along x, y or z, whichever the
// boxes spread over most. Boxes so long that sweeping would not part them (half-spaces, floors) are
// tested against all. Empty boxes meet none.
class BroadPhase {
 public:
  const std::vector<std::pair<int, int>>& FindOverlaps(std::span<const AxisAlignedBox> boxes);

 private:
  std::vector<int> order_, long_;
  std::vector<std::pair<int, int>> pairs_;
};

}  // namespace pliant::physics
