#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"

namespace pliant::physics {

absl::StatusOr<bool> PosedStep::LookAgain(std::span<const double> v, const State& state) {
  const double fast = detector_.unseen_way() / settings_.h;
  const auto differ = [&](int b) {
    double change = 0;
    for (int i = model_.velocity_offsets[b]; i < model_.velocity_offsets[b + 1]; ++i)
      change = std::max(change, std::abs(v[i] - state.v[i]));
    return change > fast;
  };
  // nodes by their velocities; frames, where those changed so much at a metre's distance, by what that is at their own
  bool is_unseen = false, are_frames = false;
  for (int b = 0; b < static_cast<int>(model_.blocks.size()); ++b) {
    if (!differ(b)) continue;
    (model_.blocks[b]->num_nodes() > 0 ? is_unseen : are_frames) = true;
  }
  if (!is_unseen && !are_frames) return false;

  ahead_.q.assign(state.q.begin(), state.q.end());
  ahead_.v.assign(v.begin(), v.end());
  ahead_.contacts.assign(state.contacts.begin(), state.contacts.end());
  if (!ahead_motions_) ahead_motions_ = std::make_unique<BodyMotions>(model_);
  ahead_motions_->Update(ahead_);
  for (int i = 0; i < static_cast<int>(model_.bodies.size()) && !is_unseen; ++i) {
    const Body& body = model_.bodies[i];
    if (body.block == kWorldBlock || body.deformable) continue;
    const FrameMotion &before = motions_[i], &after = (*ahead_motions_)[i];
    const double change = std::sqrt((after.v_W - before.v_W).squaredNorm()) +
                          std::sqrt((after.omega_W - before.omega_W).squaredNorm()) *
                              detector_.CalcReach(i, before.X_WB.p);
    is_unseen = change > fast;
  }
  if (!is_unseen) return false;
  detector_.Detect(ahead_, *ahead_motions_, settings_.h, &ahead_contacts_);
  const int solved = static_cast<int>(contacts_.size());
  contacts_.insert(contacts_.end(), resting_contacts_.begin(), resting_contacts_.end());
  keys_.clear();
  for (const ContactPoint& contact : contacts_) keys_.push_back(contact.key);
  std::sort(keys_.begin(), keys_.end());
  const std::size_t known = contacts_.size();
  for (const ContactPoint& contact : ahead_contacts_) {
    if (!std::binary_search(keys_.begin(), keys_.end(), contact.key)) contacts_.push_back(contact);
  }
  const bool is_more = contacts_.size() > known;
  if (is_more) {
    if (absl::Status status = WakeTouched(state); !status.ok()) return status;
  }
  SetContactsToRestAside();
  if (!is_more) return false;
  num_solved_ = solved;
  if (absl::Status status = PoseRows(state, v); !status.ok()) return status;
  return true;
}

bool PosedStep::IsFactored(std::span<const int> blocks) const {
  return std::ranges::all_of(blocks, [this](int b) {
    return is_factored_[b] && std::ranges::equal(factored_groups_[b], participants(b));
  });
}

}  // namespace pliant::physics
