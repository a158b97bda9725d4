#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/contact/contact_detection.h"
#include "physics/stepping/report/step_report.h"
#include "physics/stepping/step/pose.h"
#include "physics/stepping/step/travel_change.h"

namespace pliant::physics {

// The contacts of a step.
struct StepContacts {
  explicit StepContacts(const Model& model) : detector(model), travel_change(model) {}

  ContactDetector detector;
  std::vector<ContactPoint> points;   // to be solved
  std::vector<ContactPoint> resting;  // between sleepers
  // Number of leading `points` that existed, and were solved, at the last re-detection; 0 before
  // the first.
  int num_solved = 0;

  // Scratch of RedetectContacts: bodies whose travel changed, and their new contacts.
  TravelChange travel_change;
  std::vector<ContactPoint> new_points;
  std::vector<std::uint64_t> keys;
};

// Finds the contacts at `state`, and poses the blocks that they wake. INTERNAL, naming both bodies,
// when a contact is not finite.
absl::Status DetectContacts(const State& state, StepBlocks* blocks, StepContacts* contacts);

// Repeats detection where the solved velocities v, by StepBlocks::spaces, take bodies beyond the
// margins of the last one. True when there are new contacts, which are to be solved together with
// the others.
absl::StatusOr<bool> RedetectContacts(std::span<const double> v, const State& state,
                                      StepBlocks* blocks, StepContacts* contacts);

// Solves, and detects contacts again along the solution, until there are no new ones or the limit
// is reached. `redetect()` poses new contacts and returns whether there are any.
template <typename Solve, typename Redetect>
absl::Status SolveAndRedetect(int max_redetections, StepReport* report, const Solve& solve,
                              const Redetect& redetect) {
  for (int k = 0;; ++k) {
    if (absl::Status status = solve(); !status.ok()) return status;
    if (k == max_redetections) {
      if (k > 0) ++report->compromises[Compromise::kRedetectionLimit];
      return absl::OkStatus();
    }
    const absl::StatusOr<bool> more = redetect();
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
}

}  // namespace pliant::physics
