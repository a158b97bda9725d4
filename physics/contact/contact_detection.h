#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Finds the contacts of a model's bodies, touching or within the contact margin. It reads geometry
// only: rigid shapes on frames and deforming surfaces over nodes. Keeps bounding volumes, and
// results for pairs of unmoved bodies, between calls; neither changes a result.
class ContactDetector {
 public:
  explicit ContactDetector(const Model& model);
  ~ContactDetector();

  // Contacts omitted from a step.
  struct Counts {
    // points beyond the limit of a pair of shapes
    int manifold_points_dropped = 0;
    // speculative contacts that were already too deep when found
    int speculative_dropped = 0;
    int nonfinite = 0;  // contacts whose gap, point or normal is not finite: a fault
    int collapsed = 0;  // contacts without a normal, on surfaces without area
    int too_fast = 0;   // bodies that move farther in the step than their length

    void Add(const Counts& others);
  };

  // Writes the contacts at `state` with a gap below the margin, and those that close within the
  // step at its velocities, in an order that depends on the model and the state alone; keys are
  // unique and ascending within a pair. `h` [s] is the default relaxation time. `motions` are of
  // `state`.
  //
  // A sliding contact that carried an impulse in the last step (State::contacts) is kept up to a
  // gap of sliding_time μ ‖v_t‖ beyond the margin.
  //
  // INTERNAL, naming both bodies, when a contact is not finite. RESOURCE_EXHAUSTED when more than
  // 2^18 + 32 n pairs of the n bodies are close enough to touch.
  absl::Status Detect(const State& state, const BodyMotions& motions, double h,
                      std::vector<ContactPoint>* contacts);
  // As above for callers without motions; after an error, the contacts that are finite, or none.
  std::vector<ContactPoint> Detect(const State& state, double h);

  // For bodies flagged in `changed`, whose velocities differ from those of the last Detect at the
  // same positions: appends the contacts that their pairs make during the step with the velocities
  // of `state`, and that Detect did not find. Present contacts are not repeated: Detect finds them
  // whatever the motion. Errors as Detect.
  absl::Status DetectAhead(const State& state, const BodyMotions& motions, double h,
                           std::span<const char> changed, std::vector<ContactPoint>* contacts);

  // Sets the sliding time of Detect [s], for methods whose contact law keeps sliding bodies at a
  // gap. 0 by default.
  void set_sliding_time(double seconds) { sliding_time_ = seconds; }

  // Counts of the last Detect and of each DetectAhead since.
  const Counts& counts() const { return counts_; }

  // Travel by which motions may change in the course of a step before bodies can meet that were not
  // considered [m].
  double speculative_margin() const { return speculative_margin_; }

  // Thickness of a body's thinnest shape, or of its surface at rest [m]; infinite when unknown.
  double thickness(int body) const;

 private:
  struct Workspace;
  const Model& model_;
  std::unique_ptr<Workspace> workspace_;
  double speculative_margin_;
  double sliding_time_ = 0;
  Counts counts_;
};

}  // namespace pliant::physics
