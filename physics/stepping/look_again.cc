#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"

namespace pliant::physics {

absl::StatusOr<bool> PosedStep::LookAgain(std::span<const double> v, const State& state) {
  // a turn of 1 rad/s counts as 1 m/s
  double change = 0;
  for (std::size_t i = 0; i < v.size(); ++i) change = std::max(change, std::abs(v[i] - state.v[i]));
  if (settings_.h * change <= detector_.unseen_way()) return false;

  ahead_.q.assign(state.q.begin(), state.q.end());
  ahead_.v.assign(v.begin(), v.end());
  ahead_.contacts.assign(state.contacts.begin(), state.contacts.end());
  if (!ahead_motions_) ahead_motions_ = std::make_unique<BodyMotions>(model_);
  ahead_motions_->Update(ahead_);
  detector_.Detect(ahead_, *ahead_motions_, settings_.h, &ahead_contacts_);
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
  if (absl::Status status = PoseRows(state); !status.ok()) return status;
  return true;
}

}  // namespace pliant::physics
