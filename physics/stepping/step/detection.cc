#include "physics/stepping/step/detection.h"

#include <algorithm>

#include "physics/contact/speculation.h"

namespace pliant::physics {
namespace {

// Overlap at the end of a step, in margins, at which features that turn into each other get a
// contact beside the known one of the same features.
constexpr double kTolerableClosing = 0.1;

// Wakes the blocks that contacts touch, and poses them.
absl::Status WakeTouchedBlocks(const State& state, StepBlocks* blocks, StepContacts* contacts) {
  const int asleep = blocks->sleeping.num_asleep;
  WakeTouched(contacts->points, blocks);
  if (blocks->sleeping.num_asleep == asleep) return absl::OkStatus();
  return PoseWoken(state, blocks);
}

// Moves contacts between sleeping blocks, whose impulses do not change, from points to resting.
void SetRestingAside(const Sleeping& sleeping, StepContacts* contacts) {
  std::vector<ContactPoint>&points = contacts->points, &resting = contacts->resting;
  resting.clear();
  if (!sleeping.is_any_asleep()) return;
  const auto sleeps = [&](const ContactPoint& contact) { return sleeping.sleeps(contact); };
  // common case: a world at rest
  if (std::ranges::all_of(points, sleeps)) return resting.swap(points);
  std::erase_if(points, [&](const ContactPoint& contact) {
    if (!sleeps(contact)) return false;
    resting.push_back(contact);
    return true;
  });
}

}  // namespace

absl::Status DetectContacts(const State& state, StepBlocks* blocks, StepContacts* contacts) {
  contacts->num_solved = 0;
  // SAP keeps sliding bodies at a gap of (h + τ_d) μ ‖v_t‖; other methods take the same contacts
  const double h = blocks->stage.h, relaxation_time = blocks->model.contact.relaxation_time;
  contacts->detector.set_sliding_time(h + (relaxation_time < 0 ? h : relaxation_time));
  if (absl::Status status = contacts->detector.Detect(state, blocks->motions, h, &contacts->points);
      !status.ok())
    return status;
  if (absl::Status status = WakeTouchedBlocks(state, blocks, contacts); !status.ok()) return status;
  SetRestingAside(blocks->sleeping, contacts);
  return absl::OkStatus();
}

absl::StatusOr<bool> RedetectContacts(std::span<const double> v, const State& state,
                                      StepBlocks* blocks, StepContacts* contacts) {
  TravelChange& change = contacts->travel_change;
  const double h = blocks->stage.h;
  for (int b = 0; b < blocks->count(); ++b)
    blocks->CalcStateVelocities(b, blocks->spaces.Part(b, v), change.Velocities(b));
  if (!change.Find(state, blocks->motions, h, contacts->detector.speculative_margin()))
    return false;
  std::vector<ContactPoint>& found = contacts->new_points;
  found.clear();
  if (absl::Status status = contacts->detector.DetectAhead(change.state(), change.motions(), h,
                                                           change.changed_bodies(), &found);
      !status.ok())
    return status;
  if (found.empty()) return false;

  // add new contacts to the known ones
  std::vector<ContactPoint>& points = contacts->points;
  const int solved = static_cast<int>(points.size());
  points.insert(points.end(), contacts->resting.begin(), contacts->resting.end());
  std::vector<std::uint64_t>& keys = contacts->keys;
  keys.clear();
  for (const ContactPoint& contact : points) keys.push_back(contact.key);
  std::sort(keys.begin(), keys.end());
  const std::size_t known = points.size();
  const auto is_known = [&](const ContactPoint& contact) {
    return std::binary_search(keys.begin(), keys.end(), contact.key);
  };
  const double tolerable = kTolerableClosing * blocks->model.contact.margin;
  for (ContactPoint& contact : found) {
    const bool is_elsewhere =
        contact.is_speculative() && contact.gap + h * contact.gap_rate < -tolerable;
    for (int k = 0; k < kMaxPoses && is_elsewhere && is_known(contact); ++k)
      contact.key = NextPoseKey(contact.key);
    if (is_known(contact)) continue;
    keys.insert(std::ranges::lower_bound(keys, contact.key), contact.key);
    points.push_back(contact);
  }
  const bool is_more = points.size() > known;
  if (is_more) {
    if (absl::Status status = WakeTouchedBlocks(state, blocks, contacts); !status.ok())
      return status;
  }
  SetRestingAside(blocks->sleeping, contacts);
  if (is_more) contacts->num_solved = solved;
  return is_more;
}

}  // namespace pliant::physics
