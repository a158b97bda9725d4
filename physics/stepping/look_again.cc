#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"

namespace pliant::physics {

absl::StatusOr<bool> PosedStep::LookAgain(std::span<const double> v, const State& state) {
  const double fast = detector_.unseen_way() / settings_.h;
  // nodes by their velocities; frames, where those changed so much at a metre's distance, by what that is at their own
  turned_blocks_.assign(model_.blocks.size(), 0);
  bool has_turned = false;
  for (int b = 0; b < static_cast<int>(model_.blocks.size()); ++b) {
    double change = 0;
    for (int i = model_.velocity_offsets[b]; i < model_.velocity_offsets[b + 1]; ++i)
      change = std::max(change, std::abs(v[i] - state.v[i]));
    turned_blocks_[b] = change > fast;
    has_turned = has_turned || turned_blocks_[b];
  }
  if (!has_turned) return false;

  ahead_.q.assign(state.q.begin(), state.q.end());
  ahead_.v.assign(v.begin(), v.end());
  if (!ahead_motions_) ahead_motions_ = std::make_unique<BodyMotions>(model_);
  ahead_motions_->Update(ahead_);
  turned_bodies_.assign(model_.bodies.size(), 0);
  has_turned = false;
  for (int i = 0; i < static_cast<int>(model_.bodies.size()); ++i) {
    const Body& body = model_.bodies[i];
    if (body.block == kWorldBlock || !turned_blocks_[body.block]) continue;
    turned_bodies_[i] = 1;
    if (!body.deformable) {
      const FrameMotion &before = motions_[i], &after = (*ahead_motions_)[i];
      const double change = std::sqrt((after.v_W - before.v_W).squaredNorm()) +
                            std::sqrt((after.omega_W - before.omega_W).squaredNorm()) *
                                detector_.CalcReach(i, before.X_WB.p);
      turned_bodies_[i] = change > fast;
    }
    has_turned = has_turned || turned_bodies_[i];
  }
  if (!has_turned) return false;
  ahead_contacts_.clear();
  detector_.DetectAhead(ahead_, *ahead_motions_, settings_.h, turned_bodies_, &ahead_contacts_);
  if (ahead_contacts_.empty()) return false;
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
