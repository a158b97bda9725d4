#include "physics/control/controllers.h"

#include <algorithm>

namespace pliant::physics {

void ApplyTargets(const Model& model, const Inputs& inputs, std::vector<double>* controls) {
  for (const Inputs::ActuatorTarget& target : inputs.actuators)
    (*controls)[target.actuator] = target.value;
  for (const Inputs::GripperTarget& target : inputs.grippers) {
    for (const int actuator : model.controllers[target.controller].actuators)
      (*controls)[actuator] = target.position;
  }
}

double CalcEffort(const Actuator& actuator, double target) {
  return std::clamp(target, -actuator.effort_limit, actuator.effort_limit);
}

void AppendActuatorRows(const Model& model, const State& state, std::span<const double> controls,
                        std::span<const std::unique_ptr<BlockStep>> steps,
                        const std::function<bool(int block)>& is_awake,
                        std::vector<double>* scratch, ConstraintSet* constraints) {
  int compensated_block = kWorldBlock;
  std::vector<double>& compensation = *scratch;
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& actuator = model.actuators[i];
    if (actuator.kind == Actuator::Kind::kEffort) continue;
    const RobotJoint& joint = model.joint_of(actuator);
    if (!is_awake(joint.block)) continue;
    ConstraintRow& row = constraints->AddRow();
    row.source = ConstraintSource::kActuator;
    row.index = static_cast<int>(i);
    row.damping = actuator.damping;
    row.lower = -actuator.effort_limit;
    row.upper = actuator.effort_limit;
    if (actuator.kind == Actuator::Kind::kPosition) {
      row.stiffness = actuator.stiffness;
      row.error = model.Positions(state, joint.block)[joint.position] - controls[i];
    } else {
      row.stiffness = 0;
      row.target_rate = controls[i];
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
