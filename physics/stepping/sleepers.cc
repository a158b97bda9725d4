#include "physics/stepping/sleepers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pliant::physics {
namespace {

// Slower than this in every velocity [m/s], [rad/s] is still: what creeps a millimetre in a quarter of an hour is awake.
constexpr double kStillSpeed = 1e-6;
constexpr double kStillTime = 0.25;  // [s]
constexpr int kLeastSteps = 10;
// Prescribed motion below this is the rounding of its targets.
constexpr double kPrescribedStillSpeed = 1e-9;

}  // namespace

Sleepers::Sleepers(const Model& model) : model_(model) {
  for (const auto& block : model.blocks) followed_.push_back(block->followed_bodies());
  rest_.resize(model.blocks.size());
  moves_.resize(model.blocks.size());
  disturbed_.resize(model.blocks.size());
}

void Sleepers::Wake(int block) {
  if (!sleeps(block)) return;
  const int island = rest_[block];
  for (int b = 0; b < static_cast<int>(rest_.size()); ++b) {
    if (rest_[b] != island) continue;
    rest_[b] = 0;
    moves_[b] = 1;
    --num_asleep_;
  }
}

void Sleepers::MarkBody(int body) {
  if (body < 0) return;
  const int block = model_.bodies[body].block;
  if (block == kWorldBlock) return;
  disturbed_[block] = 1;
  Wake(block);
}

void Sleepers::Begin(const Inputs& inputs, std::span<const double> controls, double h,
                     const State& state, const BodyMotions& motions) {
  const int count = static_cast<int>(rest_.size());
  steps_to_sleep_ = std::max(kLeastSteps, static_cast<int>(std::ceil(kStillTime / h)));
  // what sleepers exert is remembered as impulses, of steps of one length
  const bool may_sleep = model_.sleeping && h == model_.time_step;
  num_asleep_ = 0;
  for (int b = 0; b < count; ++b) {
    rest_[b] = b < static_cast<int>(state.rest.size()) ? state.rest[b] : 0;
    if (!may_sleep && rest_[b] < 0) rest_[b] = 0;
    num_asleep_ += rest_[b] < 0;
    moves_[b] = rest_[b] >= 0 && model_.blocks[b]->num_velocities() > 0;
    disturbed_[b] = 0;
  }
  if (!model_.sleeping) return;

  // prescribed bodies that move, and what follows them
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
    const Body& body = model_.bodies[i];
    if (body.motion != Motion::kKinematic || body.block == kWorldBlock) continue;
    const FrameMotion& motion = motions[static_cast<int>(i)];
    const double speed =
        std::max(motion.v_W.cwiseAbs().maxCoeff(), motion.omega_W.cwiseAbs().maxCoeff());
    if (speed > kPrescribedStillSpeed) moves_[body.block] = 1;
  }
  for (const Inputs::PoseTarget& target : inputs.poses) {
    const int block = model_.bodies[target.body].block;
    if (block == kWorldBlock) continue;
    const RigidTransform& X_WB = motions[target.body].X_WB;
    const double change = std::max((target.X_WB.p - X_WB.p).cwiseAbs().maxCoeff(),
                                   (target.X_WB.R - X_WB.R).cwiseAbs().maxCoeff());
    if (change > kPrescribedStillSpeed * h) moves_[block] = 1;
  }
  const auto moves = [this](int body) {
    return body >= 0 && model_.bodies[body].block != kWorldBlock &&
           moves_[model_.bodies[body].block];
  };
  for (int b = 0; b < count; ++b) {
    if (model_.blocks[b]->num_velocities() == 0) continue;
    for (const int body : followed_[b]) {
      if (!moves(body)) continue;
      disturbed_[b] = 1;
      Wake(b);
    }
  }
  for (const Constraint& constraint : model_.constraints) {
    const auto disturb = [&](int body, int other) {
      if (moves(body) && model_.bodies[body].motion == Motion::kKinematic) MarkBody(other);
    };
    disturb(constraint.body_a, constraint.body_b);
    disturb(constraint.body_b, constraint.body_a);
  }

  // what controllers ask for
  const auto mark_block = [this](int block) {
    disturbed_[block] = 1;
    Wake(block);
  };
  for (const Inputs::AppliedForce& force : inputs.forces) MarkBody(force.body);
  for (const Inputs::JointForce& force : inputs.joint_forces) mark_block(force.block);
  for (const Inputs::TwistTarget& twist : inputs.twists)
    MarkBody(model_.controllers[twist.controller].body);
  for (const Inputs::LinkPoseTarget& pose : inputs.link_poses)
    MarkBody(model_.controllers[pose.controller].body);
  for (std::size_t i = 0; i < model_.actuators.size(); ++i)
    if (controls[i] != state.controls[i]) mark_block(model_.joint_of(model_.actuators[i]).block);
}

void Sleepers::WakeTouched(std::span<const ContactPoint> contacts) {
  if (!model_.sleeping) return;
  // one woken island touches another only where they fell asleep apart
  for (bool woke = true; woke;) {
    woke = false;
    for (const ContactPoint& contact : contacts) {
      const int a = contact.a.block, b = contact.b.block;
      if (a == kWorldBlock || b == kWorldBlock) continue;
      // beside what is driven by hand nothing falls asleep
      if (moves_[a] && model_.blocks[a]->num_velocities() == 0) disturbed_[b] = 1;
      if (moves_[b] && model_.blocks[b]->num_velocities() == 0) disturbed_[a] = 1;
      if (sleeps(a) && moves_[b]) Wake(a), woke = true;
      if (sleeps(b) && moves_[a]) Wake(b), woke = true;
    }
  }
}

void Sleepers::End(std::span<const int> island_of_block, int num_islands, State* state) {
  const int count = static_cast<int>(rest_.size());
  least_.assign(num_islands, std::numeric_limits<int>::max());
  for (int b = 0; b < count; ++b) {
    if (rest_[b] < 0 || model_.blocks[b]->num_velocities() == 0) continue;
    const std::span<const double> v = model_.Velocities(*state, b);
    const bool is_still = !disturbed_[b] && std::all_of(v.begin(), v.end(), [](double x) {
      return std::abs(x) <= kStillSpeed;
    });
    rest_[b] = is_still ? std::min(rest_[b] + 1, steps_to_sleep_) : 0;
    if (island_of_block[b] >= 0)
      least_[island_of_block[b]] = std::min(least_[island_of_block[b]], rest_[b]);
  }
  if (model_.sleeping) {
    // an island takes the number of its first block; −1 − k is what `least_` turns into once it sleeps
    for (int b = 0; b < count; ++b) {
      if (rest_[b] < 0 || model_.blocks[b]->num_velocities() == 0) continue;
      const int island = island_of_block[b];
      int label = -1 - b;
      if (island >= 0) {
        if (least_[island] >= 0) {
          if (least_[island] < steps_to_sleep_) continue;
          least_[island] = label;
        }
        label = least_[island];
      } else if (rest_[b] < steps_to_sleep_) {
        continue;
      }
      rest_[b] = label;
      ++num_asleep_;
      const std::span<double> v = model_.Velocities(state, b);
      std::fill(v.begin(), v.end(), 0.0);
    }
  }
  state->rest.assign(rest_.begin(), rest_.end());
}

}  // namespace pliant::physics
