#include "server/control/robot_drive.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace pliant::server {
namespace {

using physics::Actuator;
using physics::Controller;
using physics::RobotJoint;

constexpr double kArrived = 1e-9;  // [rad], [m]

// A limit from the robot's file, or a default if it is not finite.
double Choose(double limit, double otherwise) {
  return std::isfinite(limit) ? limit : otherwise;
}

// Distance by which a joint that moves at `rate` lags behind its target because of its damper.
double CalcLag(const Actuator& actuator, double rate) {
  return actuator.stiffness > 0 ? actuator.damping / actuator.stiffness * rate : 0;
}

}  // namespace

RobotDrive::RobotDrive(const physics::Model& model, int robot, const DriveLimits& limits)
    : model_(model), limits_(limits) {
  for (int i = 0; i < static_cast<int>(model.actuators.size()); ++i) {
    const Actuator& actuator = model.actuators[i];
    if (actuator.robot != robot) continue;
    const RobotJoint& joint = model.joint_of(actuator);
    const bool slides = joint.kind == RobotJoint::Kind::kPrismatic;
    JointDrive& drive = joints_.emplace_back();
    drive.actuator = i;
    drive.speed = Choose(joint.velocity_limit, slides ? limits.joint_speed : limits.joint_spin);
    drive.acceleration = Choose(joint.acceleration_limit, drive.speed / limits.joint_ramp);
  }
  for (int i = 0; i < static_cast<int>(model.controllers.size()); ++i) {
    const Controller& controller = model.controllers[i];
    if (controller.robot == robot && controller.kind == Controller::Kind::kDifferentialIk)
      tools_.emplace_back().controller = i;
  }
}

void RobotDrive::Take(const RobotGoal& goal, SteadyTime now) {
  if (const auto* joints = std::get_if<std::vector<JointGoal>>(&goal)) {
    for (const JointGoal& wanted : *joints) {
      JointDrive* joint = FindJoint(wanted.actuator);
      joint->engaged = true;
      joint->freeze = false;
      joint->goal = wanted.value;
      joint->received = now;
      for (ToolDrive& tool : tools_) {
        const std::vector<int>& moved = model_.controllers[tool.controller].actuators;
        if (std::find(moved.begin(), moved.end(), wanted.actuator) != moved.end())
          tool.goal.reset();
      }
    }
    return;
  }
  const ToolGoal& wanted = std::get<ToolGoal>(goal);
  for (ToolDrive& tool : tools_) {
    if (tool.controller != wanted.controller) continue;
    tool.engaged = true;
    tool.goal = wanted.goal;
    tool.received = now;
  }
  for (const int actuator : model_.controllers[wanted.controller].actuators) {
    JointDrive* joint = FindJoint(actuator);
    joint->engaged = true;
    joint->freeze = false;
    joint->goal.reset();
  }
}

void RobotDrive::Freeze() {
  for (JointDrive& joint : joints_) {
    if (!joint.engaged) continue;
    const Actuator& actuator = model_.actuators[joint.actuator];
    const Actuator::Kind kind = actuator.kind;
    if (model_.joint_of(actuator).kind == RobotJoint::Kind::kActivation) {
      joint.goal.reset();  // keep the activation, so that the grip holds
    } else if (kind != Actuator::Kind::kPosition) {
      joint.goal = 0;
    } else if (joint.goal) {
      joint.goal.reset();
      joint.freeze = true;
    }
  }
  for (ToolDrive& tool : tools_) tool.goal.reset();
}

void RobotDrive::Release() {
  for (JointDrive& joint : joints_) {
    joint.engaged = joint.freeze = false;
    joint.goal.reset();
  }
  for (ToolDrive& tool : tools_) {
    tool.engaged = false;
    tool.goal.reset();
    tool.twist = {};
  }
}

// Whether a goal of the joint is a rate or an effort. An activation is neither: it is a grip.
bool RobotDrive::KeepsMoving(const JointDrive& joint) const {
  const Actuator& actuator = model_.actuators[joint.actuator];
  return actuator.kind != Actuator::Kind::kPosition &&
         model_.joint_of(actuator).kind != RobotJoint::Kind::kActivation;
}

void RobotDrive::Lapse() {
  for (ToolDrive& tool : tools_) tool.goal.reset();
  for (JointDrive& joint : joints_) {
    if (joint.engaged && KeepsMoving(joint)) joint.goal = 0;
  }
}

void RobotDrive::Advance(const physics::State& state, SteadyTime now, physics::Inputs* inputs) {
  for (JointDrive& joint : joints_) {
    if (joint.engaged && now - joint.received > kGoalTime && KeepsMoving(joint)) joint.goal = 0;
    if (joint.engaged) inputs->actuators.push_back({joint.actuator, AdvanceJoint(state, &joint)});
  }
  for (ToolDrive& tool : tools_) {
    if (!tool.engaged) continue;
    AdvanceTool(state, now, &tool);
    inputs->twists.push_back({tool.controller, tool.twist.angular, tool.twist.linear});
  }
}

RobotDrive::JointDrive* RobotDrive::FindJoint(int actuator) {
  return &*std::lower_bound(
      joints_.begin(), joints_.end(), actuator,
      [](const JointDrive& joint, int index) { return joint.actuator < index; });
}

// Target at which a joint stays where it is: the present target less the lag. The offset that
// carries the load remains in it.
double RobotDrive::CalcRestTarget(const physics::State& state, const JointDrive& drive) const {
  const Actuator& actuator = model_.actuators[drive.actuator];
  const RobotJoint& joint = model_.joint_of(actuator);
  const double target = state.controls[drive.actuator];
  const double rate = model_.Velocities(state, joint.block)[joint.velocity];
  return std::clamp(target - CalcLag(actuator, rate), std::min(joint.lower, target),
                    std::max(joint.upper, target));
}

double RobotDrive::AdvanceJoint(const physics::State& state, JointDrive* drive) const {
  const double before = std::exchange(drive->rate, 0);
  if (std::exchange(drive->freeze, false)) return CalcRestTarget(state, *drive);
  const double target = state.controls[drive->actuator], h = model_.time_step;
  if (!drive->goal) return target;
  const double away = *drive->goal - target;
  const double change = drive->acceleration * h;
  double next = *drive->goal;
  switch (model_.actuators[drive->actuator].kind) {
    case Actuator::Kind::kPosition: {
      // as fast as braking at half the acceleration allows
      const double wanted = std::min(
          {drive->speed, std::abs(away) / h, std::sqrt(drive->acceleration * std::abs(away))});
      const double rate = std::clamp(std::copysign(wanted, away), before - change, before + change);
      if (std::abs(away - rate * h) > kArrived) {
        next = target + rate * h;
        drive->rate = rate;
      }
      break;
    }
    case Actuator::Kind::kVelocity:
      next = std::clamp(next, target - change, target + change);
      break;
    case Actuator::Kind::kEffort:
      break;
  }
  if (next == *drive->goal) drive->goal.reset();
  return next;
}

// Pose in which a controller's link comes to rest if the targets do not change. Each joint lags
// behind its target because of its damper, so steering by the present pose would overshoot.
physics::RigidTransform RobotDrive::CalcComingPose(const physics::State& state,
                                                   const Controller& controller) const {
  const physics::Body& link = model_.bodies[controller.body];
  for (const auto& [block, articulation] : model_.robots[controller.robot].parts) {
    if (block != link.block) continue;
    const std::span<const double> now = model_.Positions(state, block);
    const std::span<const double> v = model_.Velocities(state, block);
    std::vector<double> q(now.begin(), now.end());
    for (const int index : controller.actuators) {
      const Actuator& actuator = model_.actuators[index];
      const RobotJoint& joint = model_.joint_of(actuator);
      if (joint.block == link.block) q[joint.position] += CalcLag(actuator, v[joint.velocity]);
    }
    std::vector<physics::RigidTransform> poses(articulation->num_links());
    articulation->CalcLinkPoses(q, poses);
    return poses[link.frame];
  }
  return link.X_WB;
}

void RobotDrive::AdvanceTool(const physics::State& state, SteadyTime now, ToolDrive* tool) const {
  if (now - tool->received > kGoalTime) tool->goal.reset();
  const Controller& controller = model_.controllers[tool->controller];
  TwistGoal wanted;
  if (tool->goal && std::holds_alternative<TwistGoal>(*tool->goal)) {
    wanted = std::get<TwistGoal>(*tool->goal);
  } else if (tool->goal) {
    const physics::RigidTransform X_WL = CalcComingPose(state, controller);
    wanted = CalcTwistTowards(std::get<PoseGoal>(*tool->goal), X_WL.p, Eigen::Quaterniond(X_WL.R),
                              limits_, controller.position_gain, model_.time_step);
  }
  tool->twist.Approach(wanted, limits_, model_.time_step);
}

}  // namespace pliant::server
