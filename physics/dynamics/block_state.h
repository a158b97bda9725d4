#pragma once

#include <span>
#include <vector>

namespace pliant::physics {

// One block's part of a State.
struct BlockState {
  std::span<const double> q;  // positions
  std::span<const double> v;  // velocities
  // Whatever else of the block affects the future, in a layout of its own: plastic strain, the past
  // of a multistep rule, anchors. Empty for most blocks.
  std::span<const double> internals = {};
};

// The same to be written. Internals may change in size from step to step.
struct MutableBlockState {
  std::span<double> q, v;
  std::vector<double>* internals = nullptr;

  operator BlockState() const {  // NOLINT(google-explicit-constructor): reading what may be written
    return {q, v,
            internals != nullptr ? std::span<const double>(*internals) : std::span<const double>()};
  }
};

}  // namespace pliant::physics
