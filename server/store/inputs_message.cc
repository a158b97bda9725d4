#include "server/store/inputs_message.h"

#include <algorithm>

namespace pliant::server {
namespace {

using Numbers = google::protobuf::RepeatedField<double>;
using physics::Inputs;

// A member added to Inputs, or to one of its parts, must be written, read and compared here.
static_assert(sizeof(Inputs) == 12 * sizeof(std::vector<int>));
static_assert(sizeof(Inputs::PoseTarget) == 13 * 8 && sizeof(Inputs::AppliedForce) == 11 * 8 &&
              sizeof(Inputs::ActuatorTarget) == 2 * 8 && sizeof(Inputs::JointForce) == 2 * 8 &&
              sizeof(Inputs::TwistTarget) == 7 * 8 && sizeof(Inputs::LinkPoseTarget) == 13 * 8 &&
              sizeof(Inputs::GripperTarget) == 2 * 8 && sizeof(Inputs::ActuatorGains) == 4 * 8 &&
              sizeof(Inputs::ActuatorHold) == 2 * 8 && sizeof(Inputs::PointSpring) == 10 * 8 &&
              sizeof(Inputs::PressureTarget) == 2 * 8);

template <typename Matrix>
void WriteNumbers(const Matrix& from, Numbers* to) {
  to->Add(from.data(), from.data() + from.size());
}

template <typename Matrix>
bool ReadNumbers(const Numbers& from, Matrix* to) {
  if (from.size() != to->size()) return false;
  std::copy(from.begin(), from.end(), to->data());
  return true;
}

template <typename Message>
void WritePose(const physics::RigidTransform& X, Message* message) {
  WriteNumbers(X.p, message->mutable_position());
  WriteNumbers(X.R, message->mutable_rotation());
}

template <typename Message>
bool ReadPose(const Message& message, physics::RigidTransform* X) {
  return ReadNumbers(message.position(), &X->p) && ReadNumbers(message.rotation(), &X->R);
}

}  // namespace

v1::StepInputs WriteInputs(const Inputs& inputs) {
  v1::StepInputs message;
  for (const Inputs::PoseTarget& pose : inputs.poses) {
    v1::PoseInput* input = message.add_poses();
    input->set_body(pose.body);
    WritePose(pose.X_WB, input);
  }
  for (const Inputs::AppliedForce& force : inputs.forces) {
    v1::ForceInput* input = message.add_forces();
    input->set_body(force.body);
    input->set_node(force.node);
    input->set_at_center_of_mass(force.at_center_of_mass);
    WriteNumbers(force.p_BP, input->mutable_point());
    WriteNumbers(force.force_W, input->mutable_force());
    WriteNumbers(force.torque_W, input->mutable_torque());
  }
  for (const Inputs::ActuatorTarget& target : inputs.actuators) {
    v1::ActuatorInput* input = message.add_actuators();
    input->set_actuator(target.actuator);
    input->set_value(target.value);
  }
  for (const Inputs::JointForce& force : inputs.joint_forces) {
    v1::JointForceInput* input = message.add_joint_forces();
    input->set_block(force.block);
    input->set_velocity(force.velocity);
    input->set_force(force.force);
  }
  for (const Inputs::TwistTarget& twist : inputs.twists) {
    v1::TwistInput* input = message.add_twists();
    input->set_controller(twist.controller);
    WriteNumbers(twist.angular_W, input->mutable_angular());
    WriteNumbers(twist.linear_W, input->mutable_linear());
  }
  for (const Inputs::LinkPoseTarget& pose : inputs.link_poses) {
    v1::LinkPoseInput* input = message.add_link_poses();
    input->set_controller(pose.controller);
    WritePose(pose.X_WL, input);
  }
  for (const Inputs::GripperTarget& gripper : inputs.grippers) {
    v1::GripperInput* input = message.add_grippers();
    input->set_controller(gripper.controller);
    input->set_position(gripper.position);
  }
  for (const Inputs::ActuatorGains& gains : inputs.gains) {
    v1::GainsInput* input = message.add_gains();
    input->set_actuator(gains.actuator);
    input->set_stiffness(gains.stiffness);
    input->set_damping(gains.damping);
    input->set_effort_limit(gains.effort_limit);
  }
  for (const Inputs::ActuatorHold& hold : inputs.holds) {
    v1::HoldInput* input = message.add_holds();
    input->set_actuator(hold.actuator);
    input->set_position(hold.position);
  }
  for (const Inputs::PointSpring& spring : inputs.springs) {
    v1::SpringInput* input = message.add_springs();
    input->set_body(spring.body);
    input->set_node(spring.node);
    WriteNumbers(spring.p_BP, input->mutable_point());
    WriteNumbers(spring.p_WA, input->mutable_anchor());
    input->set_stiffness(spring.stiffness);
    input->set_damping(spring.damping);
    input->set_force_limit(spring.force_limit);
  }
  for (const Inputs::PressureTarget& target : inputs.pressures) {
    v1::PressureInput* input = message.add_pressures();
    input->set_constraint(target.constraint);
    input->set_gauge(target.gauge);
  }
  message.mutable_drives()->Add(inputs.drives.begin(), inputs.drives.end());
  return message;
}

absl::StatusOr<Inputs> ReadInputs(const v1::StepInputs& message) {
  Inputs inputs;
  bool ok = true;
  for (const v1::PoseInput& input : message.poses()) {
    inputs.poses.push_back({input.body(), {}});
    ok = ok && ReadPose(input, &inputs.poses.back().X_WB);
  }
  for (const v1::ForceInput& input : message.forces()) {
    Inputs::AppliedForce force{
        .body = input.body(), .node = input.node(), .at_center_of_mass = input.at_center_of_mass()};
    ok = ok && ReadNumbers(input.point(), &force.p_BP) &&
         ReadNumbers(input.force(), &force.force_W) && ReadNumbers(input.torque(), &force.torque_W);
    inputs.forces.push_back(force);
  }
  for (const v1::ActuatorInput& input : message.actuators())
    inputs.actuators.push_back({input.actuator(), input.value()});
  for (const v1::JointForceInput& input : message.joint_forces())
    inputs.joint_forces.push_back({input.block(), input.velocity(), input.force()});
  for (const v1::TwistInput& input : message.twists()) {
    inputs.twists.push_back({input.controller()});
    ok = ok && ReadNumbers(input.angular(), &inputs.twists.back().angular_W) &&
         ReadNumbers(input.linear(), &inputs.twists.back().linear_W);
  }
  for (const v1::LinkPoseInput& input : message.link_poses()) {
    inputs.link_poses.push_back({input.controller(), {}});
    ok = ok && ReadPose(input, &inputs.link_poses.back().X_WL);
  }
  for (const v1::GripperInput& input : message.grippers())
    inputs.grippers.push_back({input.controller(), input.position()});
  for (const v1::GainsInput& input : message.gains()) {
    inputs.gains.push_back(
        {input.actuator(), input.stiffness(), input.damping(), input.effort_limit()});
  }
  for (const v1::HoldInput& input : message.holds())
    inputs.holds.push_back({input.actuator(), input.position()});
  for (const v1::SpringInput& input : message.springs()) {
    Inputs::PointSpring spring{.body = input.body(), .node = input.node()};
    ok =
        ok && ReadNumbers(input.point(), &spring.p_BP) && ReadNumbers(input.anchor(), &spring.p_WA);
    spring.stiffness = input.stiffness();
    spring.damping = input.damping();
    spring.force_limit = input.force_limit();
    inputs.springs.push_back(spring);
  }
  for (const v1::PressureInput& input : message.pressures())
    inputs.pressures.push_back({input.constraint(), input.gauge()});
  inputs.drives.assign(message.drives().begin(), message.drives().end());
  if (!ok) return absl::InvalidArgumentError("the inputs of a step have a wrong number of numbers");
  return inputs;
}

bool IsEmpty(const Inputs& inputs) {
  return inputs.poses.empty() && inputs.forces.empty() && inputs.actuators.empty() &&
         inputs.joint_forces.empty() && inputs.twists.empty() && inputs.link_poses.empty() &&
         inputs.grippers.empty() && inputs.gains.empty() && inputs.holds.empty() &&
         inputs.springs.empty() && inputs.pressures.empty() && inputs.drives.empty();
}

}  // namespace pliant::server
