#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// The unknowns of one block in one step, numbered from 0 in groups of consecutive velocities: three
// per node, six per free body, all of a joint tree. A group participates in contact or not, as a
// whole (han2023 §VI-A). A block whose unknowns change from step to step, such as the active nodes
// of a grid, creates a new space in each step.
class VelocitySpace {
 public:
  // No velocities: a block whose motion is prescribed.
  VelocitySpace() = default;

  // `num_groups` groups of `group_size` velocities each, preceded by `first_velocity` velocities
  // that belong to no group: these follow from the others and are not unknowns.
  static VelocitySpace MakeUniform(int num_groups, int group_size, int first_velocity = 0) {
    VelocitySpace space;
    space.num_groups_ = num_groups;
    space.group_size_ = group_size;
    space.first_velocity_ = first_velocity;
    return space;
  }

  // Group g begins at starts[g]; the last entry is the number of velocities.
  static VelocitySpace MakeFromStarts(std::vector<int> starts) {
    VelocitySpace space;
    space.num_groups_ = static_cast<int>(starts.size()) - 1;
    space.starts_ = std::move(starts);
    return space;
  }

  int num_groups() const { return num_groups_; }
  int num_velocities() const {
    return starts_.empty() ? first_velocity_ + num_groups_ * group_size_ : starts_.back();
  }
  int group_offset(int group) const {
    return starts_.empty() ? first_velocity_ + group * group_size_ : starts_[group];
  }
  int group_size(int group) const {
    return starts_.empty() ? group_size_ : starts_[group + 1] - starts_[group];
  }
  int group_of_velocity(int velocity) const {
    if (starts_.empty()) return (velocity - first_velocity_) / group_size_;
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), velocity);
    return static_cast<int>(next - starts_.begin()) - 1;
  }

 private:
  int num_groups_ = 0, group_size_ = 1, first_velocity_ = 0;
  std::vector<int> starts_;  // empty when all groups have group_size_ velocities
};

// The step of a block whose unknowns are not the velocities of the State.
class VelocityMap {
 public:
  virtual ~VelocityMap() = default;
  // Converts the velocities v of the step's space to those of the State.
  virtual void CalcStateVelocities(std::span<const double> v, std::span<double> state_v) const = 0;
  // Replaces the velocities of a state at the end of the step by those of the solution v, if other
  // velocities have advanced its positions (correction of overlap, collisions within the step).
  virtual void StoreVelocities(std::span<const double> v, MutableBlockState state) const {
    CalcStateVelocities(v, state.v);
  }
};

}  // namespace pliant::physics
