#include "physics/stepping/rotational_closing.h"

#include <algorithm>
#include <utility>

#include "physics/contact/kinematics.h"
#include "physics/stepping/step/trial_state.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Angle by which a body may rotate in a step before its gaps are examined [rad]: up to a radius of
// 0.2 m, they differ by at most 1e-5 m.
constexpr double kNegligibleRotation = 0.01;
// Gap that rotating by a negligible angle may close [m].
constexpr double kNegligibleClosing = 1e-5;

// The velocities of a block among all that participate.
std::span<const double> PartOf(const StepStages& stages, int block, std::span<const double> v) {
  const int active = stages.participation.index_of_block[block];
  if (active < 0) return {};
  const solvers::ConstraintSystem::Block& of = stages.system.blocks[active];
  return v.subspan(of.first, of.size);
}

}  // namespace

RotationalClosing::RotationalClosing(const Model& model) : model_(model) {
  int count = 0;
  for (const BlockAbilities& abilities : model.abilities) {
    first_frame_.push_back(count);
    if (abilities.frames != nullptr) count += abilities.frames->num_frames();
  }
  start_.resize(count);
  end_.resize(count);
}

void RotationalClosing::Start(const State& state, const StepStages& stages) {
  state_ = &state;
  stages_ = &stages;
  rotations_.assign(model_.blocks.size(), Rotation::kUnknown);
  is_placed_.assign(model_.blocks.size(), 0);
  // blocks of prescribed motion may touch several islands
  for (const ContactPoint& contact : stages.contacts.points) {
    for (const Attachment* side : {&contact.a, &contact.b}) {
      if (!side->is_on_frame() || stages.participation.index_of_block[side->block] >= 0) continue;
      if (rotations_[side->block] == Rotation::kUnknown)
        rotations_[side->block] = FindRotation(side->block, {});
      PlaceFrames(side->block, {});
    }
  }
}

// Whether a body rotates by more than a negligible angle. The links of a tree are judged by the
// start of the step, since a bound at the solution would be far too large.
bool RotationalClosing::Rotates(int body, const Attachment& side, std::span<const double> v) {
  if (!side.is_on_frame()) return false;
  const double h = stages_->system.h;
  const double squared = stages_->blocks.motions[body].omega_W.squaredNorm();
  if (h * h * squared > kNegligibleRotation * kNegligibleRotation) return true;
  if (model_.abilities[side.block].frames->num_frames() > 1) return false;
  Rotation& rotation = rotations_[side.block];
  if (rotation == Rotation::kUnknown) rotation = FindRotation(side.block, v);
  return rotation == Rotation::kLarge;
}

RotationalClosing::Rotation RotationalClosing::FindRotation(
    int block, std::span<const double> v_participating) const {
  thread_local std::vector<double> v, state_v;
  CompleteBlock(*stages_, block, PartOf(*stages_, block, v_participating), &v);
  BlockState moved = model_.StateOf(*state_, block);
  state_v.resize(moved.v.size());
  stages_->blocks.CalcStateVelocities(block, v, state_v);
  moved.v = state_v;
  // speeds at radii of 1 m and 0
  const FrameSet& frames = *model_.abilities[block].frames;
  const double spin = frames.CalcSpeedBound(moved, 1) - frames.CalcSpeedBound(moved, 0);
  return spin * stages_->system.h < kNegligibleRotation ? Rotation::kNegligible : Rotation::kLarge;
}

// A bound on what rotation can close of a gap at p_W [m]: φ² r for the angle φ by which the body
// rotates in the step, as it did at the start, twice what a radius r gives.
double RotationalClosing::CalcLargestClosing(int body, const Attachment& side,
                                             const Vector3d& p_W) const {
  if (!side.is_on_frame()) return 0;
  const FrameMotion& motion = stages_->blocks.motions[body];
  const double h = stages_->system.h;
  return h * h * motion.omega_W.squaredNorm() * (p_W - motion.X_WB.p).norm();
}

void RotationalClosing::PlaceFrames(int block, std::span<const double> v_participating) {
  if (is_placed_[block]) return;
  is_placed_[block] = 1;
  thread_local std::vector<double> v;
  thread_local TrialState end;
  CompleteBlock(*stages_, block, PartOf(*stages_, block, v_participating), &v);
  const BlockState start = model_.StateOf(*state_, block);
  const FrameSet& frames = *model_.abilities[block].frames;
  const int first = first_frame_[block], count = frames.num_frames();
  if (stages_->participation.index_of_block[block] < 0)
    frames.CalcFrames(start, std::span(start_).subspan(first, count));
  frames.CalcFrames(end.Integrate(*stages_->blocks.steps[block], start, v),
                    std::span(end_).subspan(first, count));
}

double RotationalClosing::CalcClosing(const ContactPoint& point, double gap_by_rate) const {
  const auto at = [&](std::span<const FrameMotion> frames) {
    return TrialConfiguration{first_frame_, frames, {}, {}, {}};
  };
  const ContactKinematics kinematics(model_, point, at(start_));
  return std::max(0.0, gap_by_rate - kinematics.Place(at(end_)).gap);
}

void RotationalClosing::Find(std::span<const int> contacts, std::span<const double> v,
                             std::span<double> closing) {
  const solvers::ConstraintSystem& system = stages_->system;
  // islands do not share frames that are not prescribed
  const auto participates = [&](const Attachment& side) {
    return side.block != kWorldBlock && stages_->participation.index_of_block[side.block] >= 0;
  };
  for (const int c : contacts) {
    const ContactPoint& point = stages_->contacts.points[c];
    for (const Attachment* side : {&point.a, &point.b})
      if (participates(*side)) is_placed_[side->block] = 0;
  }
  for (const int c : contacts) {
    closing[c] = 0;
    const ContactPoint& point = stages_->contacts.points[c];
    if (!point.a.nodes.empty() || !point.b.nodes.empty()) continue;
    if (!Rotates(point.body_a, point.a, v) && !Rotates(point.body_b, point.b, v)) continue;
    const double change = system.h * CalcContactVelocity(system, c, v).z();
    const double largest = CalcLargestClosing(point.body_a, point.a, point.p_W) +
                           CalcLargestClosing(point.body_b, point.b, point.p_W);
    if (!(system.contacts[c].gap + change < kNegligibleClosing + largest)) continue;
    for (const auto& [body, side] :
         {std::pair(point.body_a, &point.a), std::pair(point.body_b, &point.b)}) {
      if (!side->is_on_frame()) continue;
      PlaceFrames(side->block, v);
      // prescribed ones have been placed
      if (participates(*side))
        start_[first_frame_[side->block] + side->frame] = stages_->blocks.motions[body];
    }
    closing[c] = CalcClosing(point, point.gap + change);
  }
}

}  // namespace pliant::physics
