#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

// Finds the bodies whose solved motion differs from the one that contact detection assumed.
// Detection works along the velocities at the start of the step; it has to be repeated where points
// of a body travel differently by more than the speculative margin.
class TravelChange {
 public:
  explicit TravelChange(const Model& model);

  // Solved velocities of a block, to be set before Find.
  std::span<double> Velocities(int block);

  // Marks the bodies that have, in a step of length h, a collision point whose travel with the
  // velocities set differs by more than `bound` [m] from that with the velocities of `state`.
  // `motions` are of `state`. Returns whether there are any.
  //
  // Nodes travel by their velocities, points of a rigid body by those of its frame at their
  // distance from its origin. Blocks whose change of velocity is too small for their reach are
  // skipped before their frames are computed.
  bool Find(const State& state, const BodyMotions& motions, double h, double bound);

  // Valid after Find returned true: a flag for each body, and the start of the step with the new
  // velocities.
  std::span<const char> changed_bodies() const { return changed_bodies_; }
  const State& state() const { return state_; }
  const BodyMotions& motions() const { return motions_; }

 private:
  bool MayChange(int block, const State& state, double speed);

  const Model& model_;
  // distance of the farthest point of a rigid body from its origin Bo [m], and the largest of each
  // block
  std::vector<double> body_radii_, block_radii_;
  std::vector<char> changed_blocks_, changed_bodies_;
  std::vector<double> change_;  // of a block's velocities
  State state_;
  BodyMotions motions_;
};

}  // namespace pliant::physics
