#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

// Finds the bodies that a step's solution moves otherwise than contact detection expected. Contacts
// are looked for along the velocities at the start of the step; where points of a body travel
// differently, by more than what separates contacts that were considered from those that were not,
// detection has to be asked again.
class TravelChange {
 public:
  explicit TravelChange(const Model& model);

  // What is to be set before Find: the velocities that a block has been solved for.
  std::span<double> Velocities(int block);

  // Marks the bodies of which, in a step of length h, some point that can touch travels further
  // than `bound` [m] from where it would go with the velocities of `state`, with those set.
  // `motions` are of `state`. True when there are any.
  //
  // Nodes travel by their velocities, points of a rigid body by those of its frame at their
  // distance from its origin. A block whose change of velocity is too small for its reach is passed
  // over before its frames are computed.
  bool Find(const State& state, const BodyMotions& motions, double h, double bound);

  // After Find returned true: a flag for each body, and the start of the step with the new
  // velocities.
  std::span<const char> changed_bodies() const { return changed_bodies_; }
  const State& state() const { return state_; }
  const BodyMotions& motions() const { return motions_; }

 private:
  bool MayChange(int block, const State& state, double speed) const;

  const Model& model_;
  // distance of the farthest point of a rigid body from its origin Bo [m]
  std::vector<double> body_radii_;
  std::vector<double> block_reaches_;  // speed of the fastest point of a block's frames by Σ |v_i|
  std::vector<char> changed_blocks_, changed_bodies_;
  State state_;
  BodyMotions motions_;
};

}  // namespace pliant::physics
