#pragma once

#include <span>
#include <vector>

namespace pliant::physics {

// One block's part of a State.
struct BlockState {
  std::span<const double> q;  // positions
  std::span<const double> v;  // velocities
  // Further state of the block that affects the future, in the block's own layout: plastic strain,
  // the history of a multistep rule, anchors. Empty for most blocks.
  std::span<const double> internals = {};
};

// Writable BlockState. Internals may change in size from step to step.
struct MutableBlockState {
  std::span<double> q, v;
  std::vector<double>* internals = nullptr;

  operator BlockState() const {  // NOLINT(google-explicit-constructor): drops write access
    return {q, v,
            internals != nullptr ? std::span<const double>(*internals) : std::span<const double>()};
  }
};

}  // namespace pliant::physics
