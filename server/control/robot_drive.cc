#include "server/control/robot_drive.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace pliant::server {
namespace {

using physics::Actuator;
using physics::Controller;
using physics::Gains;
using physics::RobotJoint;

constexpr double kGoalTolerance = 1e-9;  // [rad], [m]
constexpr double kHoldSpeed = 0.01;      // below which a joint is held in place [rad/s], [m/s]

constexpr std::size_t kJointNumbers = 3;
constexpr std::size_t kToolNumbers = 1 + DriveTwist::kNumbers;

// A limit from the robot's file, or a default if it is not finite.
double Choose(double limit, double otherwise) {
  return std::isfinite(limit) ? limit : otherwise;
}

// Distance by which a joint that moves at `rate` lags behind its target because of its damper.
double CalcLag(const Gains& gains, double rate) {
  return gains.stiffness > 0 ? gains.damping / gains.stiffness * rate : 0;
}

bool IsZero(const DriveGoal& goal) {
  const auto* twist = std::get_if<TwistGoal>(&goal);
  return twist != nullptr && twist->linear.isZero(0) && twist->angular.isZero(0);
}

}  // namespace

RobotDrive::RobotDrive(const physics::Model& model, int robot)
    : model_(model), teleop_(model.robots[robot].teleop) {
  const DriveLimits& limits = teleop_.limits;
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

void RobotDrive::Take(const Goals& goals, const std::string& lease_id, SteadyTime now) {
  for (const JointGoal& goal : goals.joints) TakeJoint(goal, lease_id, now);
  for (const JogGoal& goal : goals.jogs) TakeJog(goal, lease_id, now);
  for (const ToolGoal& goal : goals.tools) TakeTool(goal, lease_id, now);
  for (const GainGoal& goal : goals.gains) {
    std::optional<GainGoal>& gains = FindJoint(goal.actuator)->gains;
    if (!gains) gains = GainGoal{goal.actuator, {}, {}, {}};
    if (goal.stiffness) gains->stiffness = goal.stiffness;
    if (goal.damping) gains->damping = goal.damping;
    if (goal.effort_limit) gains->effort_limit = goal.effort_limit;
  }
}

void RobotDrive::TakeJoint(const JointGoal& goal, const std::string& lease_id, SteadyTime now) {
  JointDrive* joint = FindJoint(goal.actuator);
  joint->taken = true;
  joint->next_lease = lease_id;
  joint->live.reset();
  if (model_.actuators[goal.actuator].kind == Actuator::Kind::kPosition || IsActivation(*joint)) {
    joint->news = JointDrive::News::kGoal;
    joint->next_goal = goal.value;
  } else {
    joint->live = {goal.value, now};
  }
  for (ToolDrive& tool : tools_) {
    if (std::ranges::count(model_.controllers[tool.controller].actuators, goal.actuator) > 0)
      tool.live.reset();
  }
}

void RobotDrive::TakeJog(const JogGoal& goal, const std::string& lease_id, SteadyTime now) {
  // a control at rest leaves a joint to other goals
  JointDrive* joint = FindJoint(goal.actuator);
  if (goal.rate == 0 && !joint->live) return;
  joint->taken = true;
  joint->next_lease = lease_id;
  joint->live = {std::clamp(goal.rate, -joint->speed, joint->speed), now};
}

void RobotDrive::TakeTool(const ToolGoal& goal, const std::string& lease_id, SteadyTime now) {
  const auto tool =
      std::ranges::find_if(tools_, [&](const auto& t) { return t.controller == goal.controller; });
  if (IsZero(goal.goal) && !tool->live) return;
  tool->taken = true;
  tool->lease = lease_id;
  tool->live = {goal.goal, now};
  for (const int actuator : model_.controllers[goal.controller].actuators) {
    JointDrive* joint = FindJoint(actuator);
    joint->taken = true;
    joint->next_lease = lease_id;
    joint->news = JointDrive::News::kEnd;
    joint->live.reset();
  }
}

void RobotDrive::Freeze() {
  Drop();
  freezes_ = true;
}

void RobotDrive::Drop() {
  for (JointDrive& joint : joints_) {
    joint.taken = false;
    joint.news = JointDrive::News::kNone;
    joint.gains.reset();
    joint.lease.clear();
    joint.live.reset();
  }
  for (ToolDrive& tool : tools_) {
    tool.taken = false;
    tool.live.reset();
  }
}

std::size_t RobotDrive::num_saved() const {
  return kJointNumbers * joints_.size() + kToolNumbers * tools_.size();
}

bool RobotDrive::engaged() const {
  return std::ranges::any_of(joints_, &JointDrive::engaged) ||
         std::ranges::any_of(tools_, &ToolDrive::engaged);
}

void RobotDrive::Save(std::vector<double>* to) const {
  for (const JointDrive& joint : joints_) {
    const int flags = joint.engaged | joint.leased << 1 | joint.has_goal << 2;
    to->insert(to->end(), {static_cast<double>(flags), joint.goal, joint.rate});
  }
  for (const ToolDrive& tool : tools_) {
    to->push_back(tool.engaged);
    tool.twist.Save(to);
  }
}

void RobotDrive::Load(const double* from) {
  for (JointDrive& joint : joints_) {
    const int flags = from == nullptr ? 0 : static_cast<int>(std::clamp(from[0], 0.0, 7.0));
    joint.engaged = flags & 1;
    joint.leased = flags & 2;
    joint.has_goal = flags & 4;
    joint.goal = from == nullptr ? 0 : from[1];
    joint.rate = from == nullptr ? 0 : from[2];
    if (from != nullptr) from += kJointNumbers;
  }
  for (ToolDrive& tool : tools_) {
    tool.engaged = from != nullptr && from[0] != 0;
    tool.twist = {};
    if (from == nullptr) continue;
    tool.twist.Load(from + 1);
    from += kToolNumbers;
  }
}

void RobotDrive::Advance(const physics::State& state, const double* from, SteadyTime now,
                         absl::FunctionRef<bool(const std::string&)> holds,
                         physics::Inputs* inputs) {
  Load(from);
  const bool freezes = std::exchange(freezes_, false);
  const auto is_live = [&](const auto& live, const std::string& lease) {
    return live && (lease.empty() || (now - live->received <= kGoalTime && holds(lease)));
  };
  for (JointDrive& joint : joints_) {
    const Actuator& actuator = model_.actuators[joint.actuator];
    bool rests = false;
    if (freezes || (joint.leased && !holds(joint.lease))) {
      // an activation keeps its stress, so that the grip holds
      const bool is_position = actuator.kind == Actuator::Kind::kPosition;
      rests = is_position && joint.has_goal;
      if (is_position || IsActivation(joint)) joint.has_goal = false;
      joint.leased = false;
    }
    if (std::exchange(joint.taken, false)) {
      joint.engaged = true;
      joint.lease = joint.next_lease;
      joint.leased = !joint.lease.empty();
    }
    const JointDrive::News news = std::exchange(joint.news, JointDrive::News::kNone);
    if (news != JointDrive::News::kNone) {
      rests = false;
      joint.has_goal = news == JointDrive::News::kGoal;
      joint.goal = joint.has_goal ? joint.next_goal : 0;
      if (!joint.has_goal) joint.rate = 0;
    }
    if (!is_live(joint.live, joint.lease)) joint.live.reset();
    SetGains(state, &joint, inputs);
    Hold(state, &joint, inputs);
    if (!joint.engaged) continue;
    if (rests) joint.rate = 0;
    inputs->actuators.push_back(
        {joint.actuator, rests ? CalcRestTarget(state, joint) : AdvanceJoint(state, &joint)});
    if (joint.lease.empty()) joint.live.reset();  // the goal was for this step only
  }
  for (ToolDrive& tool : tools_) {
    if (std::exchange(tool.taken, false)) tool.engaged = true;
    if (!is_live(tool.live, tool.lease)) tool.live.reset();
    if (!tool.engaged) continue;
    AdvanceTool(state, &tool);
    inputs->twists.push_back({tool.controller, tool.twist.angular, tool.twist.linear});
    if (tool.lease.empty()) tool.live.reset();
  }
}

RobotDrive::JointDrive* RobotDrive::FindJoint(int actuator) {
  return &*std::lower_bound(
      joints_.begin(), joints_.end(), actuator,
      [](const JointDrive& joint, int index) { return joint.actuator < index; });
}

bool RobotDrive::IsActivation(const JointDrive& joint) const {
  return model_.joint_of(model_.actuators[joint.actuator]).kind == RobotJoint::Kind::kActivation;
}

// Target at which a joint stays where it is: the present target less the lag. The offset that
// carries the load remains in it.
double RobotDrive::CalcRestTarget(const physics::State& state, const JointDrive& drive) const {
  const RobotJoint& joint = model_.joint_of(model_.actuators[drive.actuator]);
  const double target = state.controls[drive.actuator];
  const double rate = model_.Velocities(state, joint.block)[joint.velocity];
  const double lag = CalcLag(physics::GainsOf(model_, state.gains, drive.actuator), rate);
  return std::clamp(target - lag, std::min(joint.lower, target), std::max(joint.upper, target));
}

double RobotDrive::AdvanceJoint(const physics::State& state, JointDrive* drive) const {
  const double target = state.controls[drive->actuator];
  switch (model_.actuators[drive->actuator].kind) {
    case Actuator::Kind::kPosition:
      return AdvancePosition(target, drive);
    case Actuator::Kind::kVelocity:
      return AdvanceRate(target, *drive);
    case Actuator::Kind::kEffort:
      break;
  }
  if (!IsActivation(*drive)) return drive->live ? drive->live->goal : 0;
  return std::exchange(drive->has_goal, false) ? drive->goal : target;
}

// Next target position, as fast as braking at half the acceleration allows.
double RobotDrive::AdvancePosition(double target, JointDrive* drive) const {
  const RobotJoint& joint = model_.joint_of(model_.actuators[drive->actuator]);
  const double h = model_.time_step, change = drive->acceleration * h;
  const auto stop_within = [&](double away) {
    return std::min({drive->speed, away / h, std::sqrt(drive->acceleration * away)});
  };
  double wanted = 0;
  if (drive->live) {
    drive->has_goal = false;
    wanted = std::clamp(drive->live->goal, -stop_within(std::max(target - joint.lower, 0.0)),
                        stop_within(std::max(joint.upper - target, 0.0)));
  } else if (drive->has_goal) {
    const double away = drive->goal - target;
    wanted = std::copysign(stop_within(std::abs(away)), away);
  }
  drive->rate = std::clamp(wanted, drive->rate - change, drive->rate + change);
  if (drive->has_goal && std::abs(drive->goal - target - drive->rate * h) <= kGoalTolerance) {
    drive->has_goal = false;
    drive->rate = 0;
    return drive->goal;
  }
  if (drive->has_goal) return target + drive->rate * h;
  return std::clamp(target + drive->rate * h, std::min(joint.lower, target),
                    std::max(joint.upper, target));
}

double RobotDrive::AdvanceRate(double target, const JointDrive& drive) const {
  const double change = drive.acceleration * model_.time_step;
  return std::clamp(drive.live ? drive.live->goal : 0, target - change, target + change);
}

void RobotDrive::SetGains(const physics::State& state, JointDrive* joint,
                          physics::Inputs* inputs) const {
  const std::optional<GainGoal> given = std::exchange(joint->gains, std::nullopt);
  if (!given) return;
  const Gains now = physics::GainsOf(model_, state.gains, joint->actuator);
  const Gains next{given->stiffness.value_or(now.stiffness), given->damping.value_or(now.damping),
                   given->effort_limit.value_or(now.effort_limit)};
  if (next.stiffness != now.stiffness || next.damping != now.damping ||
      next.effort_limit != now.effort_limit)
    inputs->gains.push_back({joint->actuator, next.stiffness, next.damping, next.effort_limit});
}

// Holds a rate or an effort without a goal where it came to rest, if the robot's fallback says so.
void RobotDrive::Hold(const physics::State& state, JointDrive* drive,
                      physics::Inputs* inputs) const {
  const Actuator& actuator = model_.actuators[drive->actuator];
  if (actuator.kind == Actuator::Kind::kPosition || IsActivation(*drive)) return;
  if (drive->live || !drive->engaged ||
      teleop_.fallback != physics::Teleoperation::Fallback::kHold) {
    drive->has_goal = false;
    return;
  }
  // a rate ramps down first, and an effort brakes until the joint is slow
  if (actuator.kind == Actuator::Kind::kVelocity && !drive->has_goal &&
      state.controls[drive->actuator] != 0)
    return;
  const RobotJoint& joint = model_.joint_of(actuator);
  if (!drive->has_goal) {
    drive->goal = model_.Positions(state, joint.block)[joint.position];
    drive->has_goal = std::abs(model_.Velocities(state, joint.block)[joint.velocity]) < kHoldSpeed;
  }
  inputs->holds.push_back({drive->actuator, drive->goal});
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
      const RobotJoint& joint = model_.joint_of(model_.actuators[index]);
      const Gains gains = physics::GainsOf(model_, state.gains, index);
      if (joint.block == link.block) q[joint.position] += CalcLag(gains, v[joint.velocity]);
    }
    std::vector<physics::RigidTransform> poses(articulation->num_links());
    articulation->CalcLinkPoses(q, poses);
    return poses[link.frame];
  }
  return link.X_WB;
}

void RobotDrive::AdvanceTool(const physics::State& state, ToolDrive* tool) const {
  const Controller& controller = model_.controllers[tool->controller];
  const DriveLimits& limits = teleop_.limits;
  const double h = model_.time_step;
  TwistGoal wanted;
  if (tool->live) {
    const physics::RigidTransform X_WL = CalcComingPose(state, controller);
    const DriveGoal& goal = tool->live->goal;
    wanted = std::holds_alternative<TwistGoal>(goal)
                 ? std::get<TwistGoal>(goal)
                 : CalcTwistTowards(std::get<PoseGoal>(goal), X_WL.p, Eigen::Quaterniond(X_WL.R),
                                    limits, controller.position_gain, h);
    KeepWithin(limits, X_WL.p, h, &wanted);
  }
  tool->twist.Approach(wanted, limits, h);
}

}  // namespace pliant::server
