#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Poses and velocities of all rigid bodies of a model. Allocates on first use only.
class BodyMotions {
 public:
  explicit BodyMotions(const Model& model);

  void Update(const State& state);
  // Updates one block only. `step`, which may be null, is the step that will start from `state` and
  // reuses the kinematics.
  void Update(const State& state, int block, FrameStep* step);
  // Motion of a rigid body; a fixed body has zero velocity.
  const FrameMotion& operator[](int body) const { return frames_[slots_[body]]; }

 private:
  const Model& model_;
  std::vector<int> slots_;         // index in frames_ of each body
  std::vector<int> block_starts_;  // first index of each block in frames_; one entry more
  std::vector<FrameMotion> frames_;
};

}  // namespace pliant::physics
