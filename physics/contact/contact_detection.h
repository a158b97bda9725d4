#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

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

  // What was left out of the contacts of a step.
  struct Counts {
    // beyond the largest number of points that a pair of shapes keeps
    int manifold_points_dropped = 0;
    // contacts ahead that were too deep already when they were found
    int speculative_dropped = 0;
    int nonfinite = 0;  // contacts whose gap, point or normal is not finite: a fault
    int collapsed = 0;  // contacts without a direction, on surfaces without area

    void Add(const Counts& others);
  };

  // Writes the contacts at `state` with a gap below the margin, in an order that depends on the
  // model and the state alone; keys are unique and ascending within a pair. `h` [s] is the default
  // relaxation time. `motions` are of `state`.
  //
  // A contact that carried an impulse in the last step (State::contacts) and slides stays up to its
  // gliding gap (h + τ_d) μ ‖v_t‖ beyond: the convex method holds sliding bodies off by it.
  //
  // INTERNAL, naming both bodies, when a contact is not finite.
  absl::Status Detect(const State& state, const BodyMotions& motions, double h,
                      std::vector<ContactPoint>* contacts);
  // The same for a caller that keeps no motions; contacts that are not finite are left out.
  std::vector<ContactPoint> Detect(const State& state, double h);

  // Where the bodies that `changed` (a flag each) do not move as they did in the last Detect, at
  // the same positions: appends the contacts that their pairs make in the course of the step as
  // `state` has them move now, and that Detect did not find. What touches already it found
  // whichever way things move. INTERNAL as Detect.
  absl::Status DetectAhead(const State& state, const BodyMotions& motions, double h,
                           std::span<const char> changed, std::vector<ContactPoint>* contacts);

  // Of the last Detect and each DetectAhead since then.
  const Counts& counts() const { return counts_; }

  // The travel by which motions may change in the course of a step without bodies meeting that were
  // not considered [m].
  double speculative_margin() const { return speculative_margin_; }

 private:
  struct Workspace;
  const Model& model_;
  std::unique_ptr<Workspace> workspace_;
  double speculative_margin_;
  Counts counts_;
};

}  // namespace pliant::physics
