#include "physics/stepping/step/pose.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// with fewer velocities, threads cost more than they gain
constexpr int kMinParallelVelocities = 300;

// Sets where each block's velocities are in this step, and their values at its start.
void PlaceVelocities(StepBlocks* blocks) {
  std::vector<int>& offsets = blocks->spaces.offsets;
  offsets.assign(1, 0);
  for (const auto& step : blocks->steps)
    offsets.push_back(offsets.back() + step->space().num_velocities());
  blocks->v_start.resize(offsets.back());
  for (int b = 0; b < blocks->count(); ++b) {
    const std::span<double> v = blocks->spaces.Part(b, blocks->v_start);
    if (blocks->is_posed[b]) {
      std::ranges::copy(blocks->steps[b]->start_velocities(), v.begin());
    } else {
      std::ranges::fill(v, 0.0);
    }
  }
}

BlockForce ResolveForce(const Inputs::AppliedForce& force, const Body& body, const NodeSet* nodes,
                        const BodyMotions& motions) {
  BlockForce applied;
  applied.at_center_of_mass = force.at_center_of_mass;
  if (nodes != nullptr) {
    applied.part = body.part;
    if (force.node >= 0) applied.node = nodes->nodes_of(body.part).first + force.node;
    applied.p_W = force.p_BP;
  } else {
    applied.frame = body.frame;
    applied.p_W = motions[force.body].X_WB * (force.at_center_of_mass ? body.p_BoBcm : force.p_BP);
  }
  applied.force_W = force.force_W;
  applied.torque_W = force.torque_W;
  return applied;
}

void GatherInputs(const StepBlocks& blocks, int block, const Inputs& inputs,
                  BlockInputs* gathered) {
  gathered->targets.clear();
  gathered->forces.clear();
  gathered->efforts.clear();
  gathered->pressures.clear();
  gathered->gravity = blocks.model.gravity;
  for (const int body : blocks.followed_bodies[block]) {
    // a body without a target stays still
    RigidTransform X_WB;
    if (body >= 0) X_WB = blocks.motions[body].X_WB;
    for (const Inputs::PoseTarget& target : inputs.poses) {
      if (target.body == body) X_WB = target.X_WB;
    }
    gathered->targets.push_back(X_WB);
  }
  for (const Inputs::AppliedForce& force : inputs.forces) {
    const Body& body = blocks.model.bodies[force.body];
    if (body.block != block) continue;
    gathered->forces.push_back(
        ResolveForce(force, body, blocks.model.abilities[block].nodes, blocks.motions));
  }
  for (const Inputs::JointForce& force : inputs.joint_forces) {
    if (force.block == block) gathered->efforts.push_back({force.velocity, force.force});
  }
  for (const Inputs::PressureTarget& target : inputs.pressures) {
    const Constraint& constraint = blocks.model.constraints[target.constraint];
    if (blocks.model.bodies[constraint.body_a].block == block)
      gathered->pressures.push_back({constraint.volume, target.gauge});
  }
  for (const StepBlocks::Motor& motor : blocks.motors[block]) {
    const double effort = CalcEffort(GainsOf(blocks.model, blocks.gains, motor.actuator),
                                     blocks.controls[motor.actuator]);
    gathered->efforts.push_back({motor.channel, effort});
  }
}

void PoseBlock(int b, const State& state, StepBlocks* blocks) {
  blocks->is_posed[b] = !blocks->sleeping.sleeps(b);
  if (!blocks->is_posed[b]) return;
  blocks->statuses[b] =
      blocks->steps[b]->Pose(blocks->stage, blocks->model.StateOf(state, b), blocks->inputs[b]);
}

// The block's step with the terms that the method requires, where it has such a form.
std::unique_ptr<BlockStep> NewStep(const Model& model, int b, Terms terms) {
  const BlockAbilities& abilities = model.abilities[b];
  if (terms == Terms::kCompliance && abilities.compliance != nullptr)
    return abilities.compliance->NewCompliantStep();
  if (terms == Terms::kMass && abilities.equation != nullptr)
    return abilities.equation->NewMassStep();
  return model.blocks[b]->NewStep();
}

}  // namespace

StepBlocks::StepBlocks(const Model& model, Terms terms)
    : model(model), terms(terms), motions(model) {
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    steps.push_back(NewStep(model, b, terms));
    abilities.push_back(steps.back()->abilities());
    const PrescribedMotion* motion = model.abilities[b].prescribed;
    followed_bodies.push_back(motion != nullptr ? motion->followed_bodies() : std::vector<int>());
    is_prescribed.push_back(motion != nullptr && motion->is_complete());
    if (is_prescribed.back()) prescribed.push_back(b);
    const BlockAbilities& of_block = model.abilities[b];
    contact_beta.push_back(of_block.nodes != nullptr    ? of_block.nodes->contact_beta()
                           : of_block.frames != nullptr ? of_block.frames->contact_beta()
                                                        : FrameSet::kRigidBeta);
  }
  int num_velocities = 0;
  for (const auto& block : model.blocks) num_velocities += block->num_velocities();
  is_parallel = steps.size() > 1 && num_velocities > kMinParallelVelocities;
  motors.resize(steps.size());
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& actuator = model.actuators[i];
    if (actuator.kind != Actuator::Kind::kEffort) continue;
    const RobotJoint& joint = model.joint_of(actuator);
    motors[joint.block].push_back({static_cast<int>(i), joint.channel});
  }
  inputs.resize(steps.size());
  statuses.resize(steps.size());
  is_posed.resize(steps.size());
}

void StepBlocks::CalcStateVelocities(int block, std::span<const double> v,
                                     std::span<double> state_v) const {
  if (const VelocityMap* map = abilities[block].map) return map->CalcStateVelocities(v, state_v);
  std::ranges::copy(v, state_v.begin());
}

void StepBlocks::StoreVelocities(int block, std::span<const double> v,
                                 MutableBlockState state) const {
  if (const VelocityMap* map = abilities[block].map) return map->StoreVelocities(v, state);
  std::ranges::copy(v, state.v.begin());
}

absl::Status PoseBlocks(const Inputs& inputs, const Stage& stage, const State& state,
                        StepBlocks* blocks) {
  blocks->stage = stage;
  blocks->controls.assign(state.controls.begin(), state.controls.end());
  ApplyTargets(blocks->model, inputs, &blocks->controls);
  blocks->gains.assign(state.gains.begin(), state.gains.end());
  ApplyGains(blocks->model, inputs, &blocks->gains);
  blocks->holds.assign(inputs.holds.begin(), inputs.holds.end());
  blocks->springs.assign(inputs.springs.begin(), inputs.springs.end());

  // determine which blocks sleep; everything below skips them
  for (const int b : blocks->prescribed)
    blocks->motions.Update(state, b, blocks->abilities[b].frames);
  WakeDisturbed(inputs, state, blocks);

  // momentum of each block, independent of the others
  blocks->ForEachBlock([&](int b) {
    blocks->statuses[b] = absl::OkStatus();
    if (!blocks->is_prescribed[b]) blocks->motions.Update(state, b, blocks->abilities[b].frames);
    GatherInputs(*blocks, b, inputs, &blocks->inputs[b]);
    PoseBlock(b, state, blocks);
  });
  if (absl::Status status = FirstFault(*blocks); !status.ok()) return status;
  PlaceVelocities(blocks);
  return absl::OkStatus();
}

absl::Status PoseWoken(const State& state, StepBlocks* blocks) {
  blocks->ForEachBlock([&](int b) {
    if (!blocks->is_posed[b]) PoseBlock(b, state, blocks);
  });
  if (absl::Status status = FirstFault(*blocks); !status.ok()) return status;
  PlaceVelocities(blocks);
  return absl::OkStatus();
}

absl::Status FirstFault(const StepBlocks& blocks) {
  for (int b = 0; b < blocks.count(); ++b) {
    if (!blocks.statuses[b].ok()) return FailAtBlock(blocks.model, b, blocks.statuses[b]);
  }
  return absl::OkStatus();
}

}  // namespace pliant::physics
