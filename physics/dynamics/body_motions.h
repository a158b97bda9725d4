#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Where all rigid bodies of a model are and how they move, brought up to date at once. Allocates on first use only.
class BodyMotions {
 public:
  explicit BodyMotions(const Model& model);

  void Update(const State& state);
  // Of one block alone. With the step that will start from `state` its kinematics serve both; it may be null.
  void Update(const State& state, int block, BlockStep* step);
  // Of a rigid body; a fixed one has no velocity.
  const FrameMotion& operator[](int body) const { return frames_[slots_[body]]; }

 private:
  const Model& model_;
  std::vector<int> slots_;         // of each body, in frames_
  std::vector<int> block_starts_;  // of each block, in frames_; one entry more
  std::vector<FrameMotion> frames_;
};

}  // namespace pliant::physics
