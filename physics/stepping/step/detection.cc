#include "physics/stepping/step/detection.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {
namespace {

// Wakes what the contacts touch, and poses it.
absl::Status WakeTouchedBlocks(const State& state, StepBlocks* blocks, StepContacts* contacts) {
  const int asleep = blocks->sleeping.num_asleep;
  WakeTouched(contacts->points, blocks);
  if (blocks->sleeping.num_asleep == asleep) return absl::OkStatus();
  return PoseWoken(state, blocks);
}

// Contacts between sleepers exert what they did; the others are to be solved.
void SetRestingAside(const Sleeping& sleeping, StepContacts* contacts) {
  contacts->resting.clear();
  if (!sleeping.is_any_asleep()) return;
  std::erase_if(contacts->points, [&](const ContactPoint& contact) {
    if (!sleeping.sleeps(contact)) return false;
    contacts->resting.push_back(contact);
    return true;
  });
}

// Marks the bodies whose motion under v differs from that at the start by more than the margins of
// detection allow. False when there is none.
bool FindTurnedBodies(std::span<const double> v, const State& state, const StepBlocks& blocks,
                      StepContacts* contacts) {
  const Model& model = blocks.model;
  const double fast = contacts->detector.unseen_way() / blocks.settings.h;
  // nodes by their velocities; frames, where those changed so much at a metre's distance, by what
  // that is at their own
  contacts->turned_blocks.assign(model.blocks.size(), 0);
  bool has_turned = false;
  for (int b = 0; b < blocks.count(); ++b) {
    double change = 0;
    for (int i = blocks.spaces.offsets[b]; i < blocks.spaces.offsets[b + 1]; ++i)
      change = std::max(change, std::abs(v[i] - blocks.v_start[i]));
    contacts->turned_blocks[b] = change > fast;
    has_turned = has_turned || contacts->turned_blocks[b];
  }
  if (!has_turned) return false;

  State& ahead = contacts->ahead;
  ahead.q.assign(state.q.begin(), state.q.end());
  ahead.v.resize(state.v.size());
  for (int b = 0; b < blocks.count(); ++b)
    std::ranges::copy(blocks.spaces.Part(b, v), model.Velocities(&ahead, b).begin());
  contacts->motions_ahead.Update(ahead);
  contacts->turned_bodies.assign(model.bodies.size(), 0);
  has_turned = false;
  for (int i = 0; i < static_cast<int>(model.bodies.size()); ++i) {
    const Body& body = model.bodies[i];
    if (body.block == kWorldBlock || !contacts->turned_blocks[body.block]) continue;
    contacts->turned_bodies[i] = 1;
    if (!body.deformable) {
      const FrameMotion &before = blocks.motions[i], &after = contacts->motions_ahead[i];
      const double change = std::sqrt((after.v_W - before.v_W).squaredNorm()) +
                            std::sqrt((after.omega_W - before.omega_W).squaredNorm()) *
                                contacts->detector.CalcReach(i, before.X_WB.p);
      contacts->turned_bodies[i] = change > fast;
    }
    has_turned = has_turned || contacts->turned_bodies[i];
  }
  return has_turned;
}

}  // namespace

absl::Status DetectContacts(const State& state, StepBlocks* blocks, StepContacts* contacts) {
  contacts->num_solved = 0;
  contacts->detector.Detect(state, blocks->motions, blocks->settings.h, &contacts->points);
  if (absl::Status status = WakeTouchedBlocks(state, blocks, contacts); !status.ok()) return status;
  SetRestingAside(blocks->sleeping, contacts);
  return absl::OkStatus();
}

absl::StatusOr<bool> RedetectContacts(std::span<const double> v, const State& state,
                                      StepBlocks* blocks, StepContacts* contacts) {
  if (!FindTurnedBodies(v, state, *blocks, contacts)) return false;
  std::vector<ContactPoint>& found = contacts->ahead_points;
  found.clear();
  contacts->detector.DetectAhead(contacts->ahead, contacts->motions_ahead, blocks->settings.h,
                                 contacts->turned_bodies, &found);
  if (found.empty()) return false;

  // those that are new, beside the known ones
  std::vector<ContactPoint>& points = contacts->points;
  const int solved = static_cast<int>(points.size());
  points.insert(points.end(), contacts->resting.begin(), contacts->resting.end());
  std::vector<std::uint64_t>& keys = contacts->keys;
  keys.clear();
  for (const ContactPoint& contact : points) keys.push_back(contact.key);
  std::sort(keys.begin(), keys.end());
  const std::size_t known = points.size();
  for (const ContactPoint& contact : found) {
    if (!std::binary_search(keys.begin(), keys.end(), contact.key)) points.push_back(contact);
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
