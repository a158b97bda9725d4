#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Finds where the bodies of a model touch, or are within the contact margin of touching. It reads
// geometry alone: rigid shapes on frames and deforming surfaces over nodes. Keeps bounding volumes,
// and what pairs of unmoved bodies had in common, between calls; neither changes a result.
class ContactDetector {
 public:
  explicit ContactDetector(const Model& model);
  ~ContactDetector();

  // Contacts with a gap below the margin. One that carried an impulse in the last step (State::contacts) and slides
  // stays up to its gliding gap (h + τ_d) μ ‖v_t‖ beyond: the convex method holds sliding bodies off by it.
  //
  // Contacts at `state`, in an order that depends on the model and the state alone; keys are unique
  // and ascending within a pair. `h` [s] is the default relaxation time. `motions` are of `state`.
  void Detect(const State& state, const BodyMotions& motions, double h,
              std::vector<ContactPoint>* contacts);
  std::vector<ContactPoint> Detect(const State& state, double h);

  // Where the bodies that `turned` (a flag each) do not move as they did in the last Detect, at the same positions: appends the
  // contacts that their pairs make in the course of the step as `state` has them move now, and that Detect did not find. What
  // touches already it found whichever way things move.
  void DetectAhead(const State& state, const BodyMotions& motions, double h,
                   std::span<const char> turned, std::vector<ContactPoint>* contacts);

  // The way by which velocities may change in the course of a step without bodies meeting that were not looked for [m].
  double unseen_way() const { return unseen_way_; }
  // Distance of the farthest point of a rigid body from its origin Bo, at most, when last looked at [m].
  double CalcReach(int body, const Eigen::Vector3d& p_WBo) const;

 private:
  struct Workspace;
  const Model& model_;
  std::unique_ptr<Workspace> workspace_;
  double unseen_way_;
};

}  // namespace pliant::physics
