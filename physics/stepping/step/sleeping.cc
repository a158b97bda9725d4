#include "physics/stepping/step/sleeping.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/stepping/step/pose.h"

namespace pliant::physics {
namespace {

// A block slower than this in every velocity [m/s], [rad/s] is at rest; one that creeps by a
// millimetre in a quarter of an hour is not.
constexpr double kRestSpeed = 1e-6;
// Steps at speeds up to this neither count as rest nor end it: solutions within the tolerance may
// move a body that rests to and fro.
constexpr double kJitterSpeed = 1e-5;
constexpr double kRestTime = 0.25;  // [s]
constexpr int kMinRestSteps = 10;
// Slower prescribed motion is rounding of its targets [m/s], [rad/s].
constexpr double kPrescribedStillSpeed = 1e-9;

void Wake(int block, Sleeping* sleeping) {
  if (!sleeping->sleeps(block)) return;
  const int island = sleeping->rest[block];
  for (std::size_t b = 0; b < sleeping->rest.size(); ++b) {
    if (sleeping->rest[b] != island) continue;
    sleeping->rest[b] = 0;
    sleeping->moves[b] = 1;
    --sleeping->num_asleep;
  }
}

void Disturb(int block, Sleeping* sleeping) {
  if (block == kWorldBlock) return;
  sleeping->disturbed[block] = 1;
  Wake(block, sleeping);
}

void DisturbBody(const Model& model, int body, Sleeping* sleeping) {
  if (body >= 0) Disturb(model.bodies[body].block, sleeping);
}

void ReadRest(const StepBlocks& blocks, const State& state, Sleeping* sleeping) {
  const double h = blocks.stage.h;
  const int count = blocks.count();
  sleeping->rest.resize(count);
  sleeping->moves.resize(count);
  sleeping->disturbed.resize(count);
  sleeping->steps_to_sleep = std::max(kMinRestSteps, static_cast<int>(std::ceil(kRestTime / h)));
  sleeping->num_asleep = 0;
  for (int b = 0; b < count; ++b) {
    int& rest = sleeping->rest[b];
    rest = b < static_cast<int>(state.rest.size()) ? state.rest[b] : 0;
    if (!blocks.model.sleeping && rest < 0) rest = 0;
    sleeping->num_asleep += rest < 0;
    sleeping->moves[b] = rest >= 0 && !blocks.is_prescribed[b];
    sleeping->disturbed[b] = 0;
  }
}

// Marks prescribed bodies that move, and wakes the blocks that follow or are constrained to them.
void WakeByPrescribedMotion(const Inputs& inputs, const StepBlocks& blocks, Sleeping* sleeping) {
  const Model& model = blocks.model;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& body = model.bodies[i];
    if (body.motion != Motion::kKinematic || body.block == kWorldBlock) continue;
    const FrameMotion& motion = blocks.motions[static_cast<int>(i)];
    const double speed =
        std::max(motion.v_W.cwiseAbs().maxCoeff(), motion.omega_W.cwiseAbs().maxCoeff());
    if (speed > kPrescribedStillSpeed) sleeping->moves[body.block] = 1;
  }
  for (const Inputs::PoseTarget& target : inputs.poses) {
    const int block = model.bodies[target.body].block;
    if (block == kWorldBlock) continue;
    const RigidTransform& X_WB = blocks.motions[target.body].X_WB;
    const double change = std::max((target.X_WB.p - X_WB.p).cwiseAbs().maxCoeff(),
                                   (target.X_WB.R - X_WB.R).cwiseAbs().maxCoeff());
    if (change > kPrescribedStillSpeed * blocks.stage.h) sleeping->moves[block] = 1;
  }
  const auto moves = [&](int body) {
    return body >= 0 && model.bodies[body].block != kWorldBlock &&
           sleeping->moves[model.bodies[body].block];
  };
  for (int b = 0; b < blocks.count(); ++b) {
    if (blocks.is_prescribed[b]) continue;
    for (const int body : blocks.followed_bodies[b])
      if (moves(body)) Disturb(b, sleeping);
  }
  for (const Constraint& constraint : model.constraints) {
    const auto disturb = [&](int body, int other) {
      if (moves(body) && model.bodies[body].motion == Motion::kKinematic)
        DisturbBody(model, other, sleeping);
    };
    disturb(constraint.body_a, constraint.body_b);
    disturb(constraint.body_b, constraint.body_a);
  }
}

// Wakes the blocks on which inputs act.
void WakeByInputs(const Inputs& inputs, const StepBlocks& blocks, const State& state,
                  Sleeping* sleeping) {
  const Model& model = blocks.model;
  for (const Inputs::AppliedForce& force : inputs.forces) DisturbBody(model, force.body, sleeping);
  for (const Inputs::PointSpring& spring : inputs.springs)
    DisturbBody(model, spring.body, sleeping);
  for (const Inputs::ActuatorHold& hold : inputs.holds)
    Disturb(model.joint_of(model.actuators[hold.actuator]).block, sleeping);
  for (const Inputs::JointForce& force : inputs.joint_forces) Disturb(force.block, sleeping);
  for (const Inputs::TwistTarget& twist : inputs.twists)
    DisturbBody(model, model.controllers[twist.controller].body, sleeping);
  for (const Inputs::LinkPoseTarget& pose : inputs.link_poses)
    DisturbBody(model, model.controllers[pose.controller].body, sleeping);
  for (const Inputs::PressureTarget& target : inputs.pressures) {
    const Constraint& constraint = model.constraints[target.constraint];
    const Body& body = model.bodies[constraint.body_a];
    const double gauge = model.abilities_of(body).volumes->gauge_pressure(
        model.StateOf(state, body.block), constraint.volume);
    if (gauge != target.gauge) Disturb(body.block, sleeping);
  }
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const auto is_same = [&](std::span<const double> a, std::span<const double> b) {
      const Gains x = GainsOf(model, a, static_cast<int>(i)),
                  y = GainsOf(model, b, static_cast<int>(i));
      return x.stiffness == y.stiffness && x.damping == y.damping &&
             x.effort_limit == y.effort_limit;
    };
    if (blocks.controls[i] != state.controls[i] || !is_same(blocks.gains, state.gains))
      Disturb(model.joint_of(model.actuators[i]).block, sleeping);
  }
}

// Whether no velocity of a block exceeds `speed` [m/s], [rad/s].
bool IsSlow(const Model& model, const State& state, int block, double speed) {
  for (const double v : model.Velocities(state, block))
    if (!(std::abs(v) <= speed)) return false;
  const NodeSet* nodes = model.abilities[block].nodes;
  return nodes == nullptr || nodes->CalcInnerSpeed(model.StateOf(state, block)) <= speed;
}

}  // namespace

void WakeDisturbed(const Inputs& inputs, const State& state, StepBlocks* blocks) {
  Sleeping& sleeping = blocks->sleeping;
  ReadRest(*blocks, state, &sleeping);
  if (!blocks->model.sleeping) return;
  WakeByPrescribedMotion(inputs, *blocks, &sleeping);
  WakeByInputs(inputs, *blocks, state, &sleeping);
}

void WakeTouched(std::span<const ContactPoint> contacts, StepBlocks* blocks) {
  if (!blocks->model.sleeping) return;
  Sleeping& sleeping = blocks->sleeping;
  const auto is_driven = [&](int b) { return sleeping.moves[b] && blocks->is_prescribed[b]; };
  // repeat, as a woken island may touch another one that fell asleep separately
  for (bool woke = true; woke;) {
    woke = false;
    for (const ContactPoint& contact : contacts) {
      const int a = contact.a.block, b = contact.b.block;
      if (a == kWorldBlock || b == kWorldBlock) continue;
      // nothing falls asleep in contact with a moving prescribed body
      if (is_driven(a)) sleeping.disturbed[b] = 1;
      if (is_driven(b)) sleeping.disturbed[a] = 1;
      if (sleeping.sleeps(a) && sleeping.moves[b]) Wake(a, &sleeping), woke = true;
      if (sleeping.sleeps(b) && sleeping.moves[a]) Wake(b, &sleeping), woke = true;
    }
  }
}

void PutToSleep(std::span<const int> island_of_block, int num_islands, StepBlocks* blocks,
                State* state) {
  Sleeping& sleeping = blocks->sleeping;
  std::vector<int>& rest = sleeping.rest;
  std::vector<int>& island_rest = sleeping.island_rest;
  const int count = blocks->count();
  island_rest.assign(num_islands, std::numeric_limits<int>::max());
  for (int b = 0; b < count; ++b) {
    if (rest[b] < 0 || blocks->is_prescribed[b]) continue;
    if (sleeping.disturbed[b] || !IsSlow(blocks->model, *state, b, kJitterSpeed)) {
      rest[b] = 0;
    } else if (IsSlow(blocks->model, *state, b, kRestSpeed)) {
      rest[b] = std::min(rest[b] + 1, sleeping.steps_to_sleep);
    }
    if (island_of_block[b] >= 0)
      island_rest[island_of_block[b]] = std::min(island_rest[island_of_block[b]], rest[b]);
  }
  if (blocks->model.sleeping) {
    // an island sleeps under the label −1 − k, where k is its first block; the label replaces its
    // entry in island_rest
    for (int b = 0; b < count; ++b) {
      if (rest[b] < 0 || blocks->is_prescribed[b]) continue;
      const int island = island_of_block[b];
      int label = -1 - b;
      if (island >= 0) {
        if (island_rest[island] >= 0) {
          if (island_rest[island] < sleeping.steps_to_sleep) continue;
          island_rest[island] = label;
        }
        label = island_rest[island];
      } else if (rest[b] < sleeping.steps_to_sleep) {
        continue;
      }
      rest[b] = label;
      ++sleeping.num_asleep;
      std::ranges::fill(blocks->model.Velocities(state, b), 0.0);
    }
  }
  state->rest.assign(rest.begin(), rest.end());
}

}  // namespace pliant::physics
