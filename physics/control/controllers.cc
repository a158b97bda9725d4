#include "physics/control/controllers.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// Lever arm at which a held revolute joint returns with recovery_speed [m].
constexpr double kRecoveryRadius = 0.1;

}  // namespace

void ApplyTargets(const Model& model, const Inputs& inputs, std::vector<double>* controls) {
  for (const Inputs::ActuatorTarget& target : inputs.actuators)
    (*controls)[target.actuator] = target.value;
  for (const Inputs::GripperTarget& target : inputs.grippers) {
    for (const int actuator : model.controllers[target.controller].actuators)
      (*controls)[actuator] = target.position;
  }
}

Gains GainsOf(const Model& model, std::span<const double> gains, int actuator) {
  if (gains.empty()) {
    const Actuator& own = model.actuators[actuator];
    return {own.stiffness, own.damping, own.effort_limit};
  }
  const double* of_actuator = &gains[3 * static_cast<std::size_t>(actuator)];
  return {of_actuator[0], of_actuator[1], of_actuator[2]};
}

void ApplyGains(const Model& model, const Inputs& inputs, std::vector<double>* gains) {
  if (inputs.gains.empty()) return;
  if (gains->empty()) {
    for (const Actuator& own : model.actuators)
      gains->insert(gains->end(), {own.stiffness, own.damping, own.effort_limit});
  }
  for (const Inputs::ActuatorGains& given : inputs.gains) {
    double* of_actuator = &(*gains)[3 * static_cast<std::size_t>(given.actuator)];
    of_actuator[0] = given.stiffness;
    of_actuator[1] = given.damping;
    of_actuator[2] = given.effort_limit;
  }
}

double CalcEffort(const Gains& gains, double target) {
  return std::clamp(target, -gains.effort_limit, gains.effort_limit);
}

void AppendActuatorRows(const Model& model, const State& state, std::span<const double> controls,
                        std::span<const double> all_gains,
                        std::span<const Inputs::ActuatorHold> holds,
                        std::span<const std::unique_ptr<BlockStep>> steps,
                        const std::function<bool(int block)>& is_awake,
                        std::vector<double>* scratch, ConstraintSet* constraints) {
  int compensated_block = kWorldBlock;
  std::vector<double>& compensation = *scratch;
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& actuator = model.actuators[i];
    const Gains gains = GainsOf(model, all_gains, static_cast<int>(i));
    const bool is_effort = actuator.kind == Actuator::Kind::kEffort;
    const auto hold =
        std::ranges::find(holds, static_cast<int>(i), &Inputs::ActuatorHold::actuator);
    const bool is_held = hold != holds.end();
    if (!is_held && gains.damping == 0 && (is_effort || gains.stiffness == 0)) continue;
    const RobotJoint& joint = model.joint_of(actuator);
    if (!is_awake(joint.block)) continue;
    ConstraintRow& row = constraints->AddRow();
    row.source = ConstraintSource::kActuator;
    row.index = static_cast<int>(i);
    row.damping = gains.damping;
    row.lower = -gains.effort_limit;
    row.upper = gains.effort_limit;
    if (is_held) {
      // as rigid as the method allows, but a displaced joint returns slowly
      const double speed = model.contact.recovery_speed;
      row.error = model.Positions(state, joint.block)[joint.position] - hold->position;
      row.recovery_rate =
          joint.kind == RobotJoint::Kind::kPrismatic ? speed : speed / kRecoveryRadius;
    } else if (actuator.kind == Actuator::Kind::kPosition) {
      row.stiffness = gains.stiffness;
      row.error = model.Positions(state, joint.block)[joint.position] - controls[i];
    } else {
      row.stiffness = 0;
      row.target_rate = is_effort ? 0 : controls[i];
    }
    if (actuator.gravity_compensation) {
      if (compensated_block != joint.block) {
        compensated_block = joint.block;
        compensation.resize(model.blocks[joint.block]->num_velocities());
        steps[joint.block]->abilities().joints->CalcGravityCompensation(compensation);
      }
      row.feedforward = compensation[joint.velocity];
    }
    ConstraintTerm& term = constraints->AddTerm();
    term.attachment.block = joint.block;
    term.velocity = joint.velocity;
  }
}

}  // namespace pliant::physics
