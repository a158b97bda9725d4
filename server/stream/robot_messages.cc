#include "server/stream/robot_messages.h"

#include <cmath>
#include <vector>

namespace pliant::server {
namespace {

using physics::Actuator;
using physics::Controller;
using physics::Model;
using physics::Robot;
using physics::RobotJoint;

bool IsActivation(const RobotJoint& joint) {
  return joint.kind == RobotJoint::Kind::kActivation;
}

// Visits robot and joint indices in the order of the messages.
template <typename Visitor>
void ForEachJoint(const Model& model, const Visitor& visit) {
  for (int r = 0; r < static_cast<int>(model.robots.size()); ++r) {
    const std::vector<RobotJoint>& joints = model.robots[r].joints;
    for (int j = 0; j < static_cast<int>(joints.size()); ++j) {
      if (joints[j].kind != RobotJoint::Kind::kCompound) visit(r, j);
    }
  }
}

// Index of each of Model::bodies among the rigid bodies of the description; 0 if it is not rigid.
std::vector<std::uint32_t> NumberRigidBodies(const Model& model) {
  std::vector<std::uint32_t> numbers;
  std::uint32_t next = 0;
  for (const physics::Body& body : model.bodies)
    numbers.push_back(model.abilities_of(body).nodes != nullptr ? 0 : next++);
  return numbers;
}

// Index of the actuator of each robot's joints, −1 if there is none.
std::vector<std::vector<int>> FindActuatorsOfJoints(const Model& model) {
  std::vector<std::vector<int>> actuators;
  for (const Robot& robot : model.robots) actuators.emplace_back(robot.joints.size(), -1);
  for (int i = 0; i < static_cast<int>(model.actuators.size()); ++i)
    actuators[model.actuators[i].robot][model.actuators[i].joint] = i;
  return actuators;
}

v1::JointDescription::Drive WriteDrive(const RobotJoint& joint, const Actuator& actuator) {
  switch (actuator.kind) {
    case Actuator::Kind::kEffort:
      return IsActivation(joint) ? v1::JointDescription::DRIVE_ACTIVATION
                                 : v1::JointDescription::DRIVE_TORQUE;
    case Actuator::Kind::kPosition:
      return v1::JointDescription::DRIVE_POSITION;
    case Actuator::Kind::kVelocity:
      return v1::JointDescription::DRIVE_VELOCITY;
  }
  return v1::JointDescription::DRIVE_UNSPECIFIED;
}

void DescribeJoint(const RobotJoint& joint, const Actuator* actuator, std::uint32_t child,
                   v1::JointDescription* message) {
  message->set_name(joint.name);
  message->set_is_prismatic(joint.kind == RobotJoint::Kind::kPrismatic);
  message->set_child(child);
  if (std::isfinite(joint.lower)) message->set_lower(joint.lower);
  if (std::isfinite(joint.upper)) message->set_upper(joint.upper);
  if (std::isfinite(joint.velocity_limit)) message->set_velocity_limit(joint.velocity_limit);
  if (actuator == nullptr) return;
  message->set_drive(WriteDrive(joint, *actuator));
  if (std::isfinite(actuator->effort_limit)) message->set_effort_limit(actuator->effort_limit);
}

// True if `body` is the carrier itself or one of its descendants.
bool Carries(const Model& model, const Robot& robot, int carrier, int body) {
  if (body == carrier) return true;
  const physics::Body &above = model.bodies[carrier], &below = model.bodies[body];
  if (above.block == physics::kWorldBlock || below.block != above.block) return false;
  for (const auto& [block, articulation] : robot.parts) {
    if (block != above.block) continue;
    for (int link = below.frame; link >= 0; link = articulation->parent(link)) {
      if (link == above.frame) return true;
    }
  }
  return false;
}

void DescribeController(const Model& model, const Controller& controller,
                        const std::vector<std::uint32_t>& numbers,
                        v1::ControllerDescription* message) {
  const Robot& robot = model.robots[controller.robot];
  message->set_name(controller.name.substr(robot.name.size() + 1));
  for (const int actuator : controller.actuators)
    message->add_joints(model.joint_of(model.actuators[actuator]).name);
  if (controller.kind == Controller::Kind::kGripper) {
    message->set_kind(v1::ControllerDescription::KIND_GRIPPER);
    return;
  }
  message->set_kind(v1::ControllerDescription::KIND_DIFFERENTIAL_IK);
  message->set_body(numbers[controller.body]);
  for (const int body : robot.bodies) {
    if (Carries(model, robot, controller.body, body)) message->add_carried(numbers[body]);
  }
}

}  // namespace

void DescribeRobots(const Model& model, v1::WorldDescription* description) {
  const std::vector<std::uint32_t> numbers = NumberRigidBodies(model);
  const std::vector<std::vector<int>> actuators = FindActuatorsOfJoints(model);
  for (const Robot& robot : model.robots) {
    v1::RobotDescription* message = description->add_robots();
    message->set_name(robot.name);
    for (const int body : robot.bodies) message->add_links(numbers[body]);
    message->set_has_gamepad(!robot.teleop.gamepad.empty());
    for (const physics::Teleoperation::Group& group : robot.teleop.groups) {
      v1::ActuatorGroup* of_robot = message->add_groups();
      of_robot->set_name(group.name);
      for (const int actuator : group.actuators)
        of_robot->add_joints(model.joint_of(model.actuators[actuator]).name);
    }
  }
  ForEachJoint(model, [&](int r, int j) {
    const RobotJoint& joint = model.robots[r].joints[j];
    const Actuator* actuator = actuators[r][j] < 0 ? nullptr : &model.actuators[actuators[r][j]];
    DescribeJoint(joint, actuator, numbers[joint.body],
                  description->mutable_robots(r)->add_joints());
  });
  for (const Controller& controller : model.controllers) {
    DescribeController(model, controller, numbers,
                       description->mutable_robots(controller.robot)->add_controllers());
  }
}

std::vector<JointPlace> FindJoints(const Model& model) {
  std::vector<JointPlace> places;
  ForEachJoint(model, [&](int r, int j) {
    const RobotJoint& joint = model.robots[r].joints[j];
    places.push_back(IsActivation(joint) ? JointPlace()
                                         : JointPlace{joint.block, joint.position, joint.velocity});
  });
  return places;
}

v1::JointFrame DescribeJoints(const physics::Snapshot& snapshot) {
  const Model& model = *snapshot.model;
  const physics::State& state = snapshot.state;
  const std::vector<double>& efforts = snapshot.report.efforts;  // empty before the first step
  const std::vector<std::vector<int>> actuators = FindActuatorsOfJoints(model);
  v1::JointFrame frame;
  ForEachJoint(model, [&](int r, int j) {
    const RobotJoint& joint = model.robots[r].joints[j];
    if (IsActivation(joint)) {
      frame.add_positions(0);
      frame.add_velocities(0);
    } else {
      frame.add_positions(model.Positions(state, joint.block)[joint.position]);
      frame.add_velocities(
          static_cast<float>(model.Velocities(state, joint.block)[joint.velocity]));
    }
    const int actuator = actuators[r][j];
    frame.add_targets(actuator < 0 ? 0 : state.controls[actuator]);
    const bool has_effort = actuator >= 0 && actuator < static_cast<int>(efforts.size());
    frame.add_efforts(has_effort ? static_cast<float>(efforts[actuator]) : 0);
  });
  return frame;
}

}  // namespace pliant::server
