#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/contact/contact_detection.h"
#include "physics/stepping/step/pose.h"
#include "physics/stepping/step/travel_change.h"

namespace pliant::physics {

// Where bodies touch in a step.
struct StepContacts {
  explicit StepContacts(const Model& model) : detector(model), travel_change(model) {}

  ContactDetector detector;
  std::vector<ContactPoint> points;   // to be solved
  std::vector<ContactPoint> resting;  // between sleepers
  // How many of `points`, the first, were there at the last re-detection, and solved with; 0 before
  // the first.
  int num_solved = 0;

  // Scratch of RedetectContacts: which bodies travel differently, and what they meet.
  TravelChange travel_change;
  std::vector<ContactPoint> new_points;
  std::vector<std::uint64_t> keys;
};

// Finds the contacts at `state`, and poses the blocks that they wake. INTERNAL, naming both bodies,
// when a contact is not finite.
absl::Status DetectContacts(const State& state, StepBlocks* blocks, StepContacts* contacts);

// Detects once more where the solved velocities v, by StepBlocks::spaces, take bodies to where the
// margins of the last detection do not reach. True when there are more contacts: they are to be
// solved with the others then.
absl::StatusOr<bool> RedetectContacts(std::span<const double> v, const State& state,
                                      StepBlocks* blocks, StepContacts* contacts);

}  // namespace pliant::physics
