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
  // Updates one block alone. The step that will start from `state` may share its kinematics; null:
  // none.
  void Update(const State& state, int block, FrameStep* step);
  // A rigid body's motion; a fixed one has no velocity.
  const FrameMotion& operator[](int body) const { return frames_[slots_[body]]; }

 private:
  const Model& model_;
  std::vector<int> slots_;         // of each body, in frames_
  std::vector<int> block_starts_;  // of each block, in frames_; one entry more
  std::vector<FrameMotion> frames_;
};

}  // namespace pliant::physics
