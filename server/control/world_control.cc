#include "server/control/world_control.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/control/read_command.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

// The command as clients with a lease send it.
v1::CommandRequest WithoutTarget(const v1::TargetCommand& given) {
  v1::CommandRequest command;
  command.set_controller(given.controller());
  switch (given.command_case()) {
    case v1::TargetCommand::kTwist:
      *command.mutable_twist() = given.twist();
      break;
    case v1::TargetCommand::kPose:
      *command.mutable_pose() = given.pose();
      break;
    case v1::TargetCommand::kJointTargets:
      *command.mutable_joint_targets() = given.joint_targets();
      break;
    case v1::TargetCommand::kGripper:
      *command.mutable_gripper() = given.gripper();
      break;
    case v1::TargetCommand::COMMAND_NOT_SET:
      break;
  }
  return command;
}

}  // namespace

WorldControl::WorldControl(std::shared_ptr<const physics::Model> model, const DriveLimits& limits)
    : model_(std::move(model)), first_robot_(static_cast<int>(model_->bodies.size())) {
  for (int body = 0; body < first_robot_; ++body) {
    if (model_->bodies[body].motion == physics::Motion::kKinematic)
      drives_.emplace(body, Drive(limits));
  }
  for (const physics::Actuator& actuator : model_->actuators)
    robots_.try_emplace(first_robot_ + actuator.robot, *model_, actuator.robot, limits);
}

WorldControl::Target WorldControl::FindTarget(const std::string& name) const {
  for (const auto& [target, drive] : drives_) {
    if (NameOf(target) == name) return target;
  }
  for (const auto& [target, drive] : robots_) {
    if (NameOf(target) == name) return target;
  }
  return -1;
}

std::string WorldControl::NameOf(Target target) const {
  return target < first_robot_ ? model_->bodies[target].name
                               : model_->robots[target - first_robot_].name;
}

absl::StatusOr<WorldControl::Target> WorldControl::ResolveTarget(const std::string& wanted) const {
  const Target target = FindTarget(wanted);
  if (target >= 0) return target;
  std::vector<std::string> names;
  for (const auto& [body, drive] : drives_) names.push_back(NameOf(body));
  for (const auto& [robot, drive] : robots_) names.push_back(NameOf(robot));
  const std::string choice = names.empty()
                                 ? "; this world has no KINEMATIC body and no robot with actuators"
                                 : absl::StrCat("; expected one of: ", absl::StrJoin(names, ", "));
  const std::string name = absl::StrCat("\"", Shorten(wanted, 80), "\"");
  const bool is_robot =
      std::any_of(model_->robots.begin(), model_->robots.end(),
                  [&](const physics::Robot& robot) { return robot.name == wanted; });
  if (is_robot) {
    return absl::InvalidArgumentError(absl::StrCat(
        "target: the robot ", name, " has no actuators and accepts no commands", choice));
  }
  if (physics::FindBody(*model_, wanted) < 0) {
    return absl::NotFoundError(absl::StrCat("target: there is no body or robot ", name, choice));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("target: ", name, " is not KINEMATIC and accepts no commands", choice));
}

absl::StatusOr<v1::Lease> WorldControl::Acquire(const v1::AcquireLeaseRequest& request,
                                                SteadyTime now) {
  const absl::StatusOr<Target> target = ResolveTarget(request.target());
  if (!target.ok()) return target.status();
  std::lock_guard lock(mutex_);
  const absl::StatusOr<LeaseTable::Lease> lease = leases_.Acquire(
      *target, request.target(), request.client(), request.takeover(), request.lease_id(), now);
  if (!lease.ok()) return lease.status();
  v1::Lease message;
  message.set_lease_id(lease->id);
  message.set_target(request.target());
  message.set_client(lease->client);
  message.set_expires_in(std::chrono::duration<double>(LeaseTable::kLeaseTime).count());
  return message;
}

absl::Status WorldControl::Release(const std::string& lease_id, SteadyTime now) {
  std::lock_guard lock(mutex_);
  return leases_.Release(lease_id, now);
}

absl::StatusOr<std::string> WorldControl::Submit(const v1::CommandRequest& command,
                                                 SteadyTime now) {
  if (!std::isfinite(command.client_time())) {
    return absl::InvalidArgumentError("client_time: not a finite number");
  }
  std::optional<Target> target;
  {
    std::lock_guard lock(mutex_);
    target = leases_.FindTarget(command.lease_id());
  }

  // read the goal first, so that a refused command does not count
  DriveGoal body_goal;
  RobotGoal robot_goal;
  if (target && *target < first_robot_) {
    absl::StatusOr<DriveGoal> goal = ReadBodyCommand(model_->bodies[*target], command);
    if (!goal.ok()) return goal.status();
    body_goal = *std::move(goal);
  } else if (target) {
    absl::StatusOr<RobotGoal> goal = ReadRobotCommand(*model_, *target - first_robot_, command);
    if (!goal.ok()) return goal.status();
    robot_goal = *std::move(goal);
  }

  // a lease keeps its target, so the goal read above is still for this one
  std::lock_guard lock(mutex_);
  const absl::StatusOr<Target> used = leases_.Use(command.lease_id(), command.sequence(), now);
  if (!used.ok()) return used.status();
  if (stopped_)
    return absl::FailedPreconditionError(
        "the world is stopped; call ResumeWorld to command it again");
  Command& latest = mailbox_[*used];
  if (*used >= first_robot_) {
    // a client that takes a robot over does not continue the previous client's motion
    RobotDrive& robot = robots_.at(*used);
    if (latest.lease_id != command.lease_id()) robot.Freeze();
    robot.Take(robot_goal, now);
  }
  latest = {command.lease_id(), command.sequence(), command.client_time(), now, body_goal};
  return NameOf(*used);
}

absl::StatusOr<StepInputs> WorldControl::Hold(const std::vector<v1::TargetCommand>& commands,
                                              SteadyTime now) {
  Held held;
  for (const v1::TargetCommand& command : commands) {
    const absl::StatusOr<Target> target = ResolveTarget(command.target());
    if (!target.ok()) return target.status();
    {
      std::lock_guard lock(mutex_);
      leases_.Expire(now);
      if (const auto lease = leases_.leases().find(*target); lease != leases_.leases().end()) {
        return absl::FailedPreconditionError(absl::StrCat("\"", command.target(),
                                                          "\" is driven by ", lease->second.client,
                                                          "; wait until it is released"));
      }
      if (stopped_) {
        return absl::FailedPreconditionError(
            "the world is stopped; call ResumeWorld to command it again");
      }
    }
    if (*target < first_robot_) {
      absl::StatusOr<DriveGoal> goal =
          ReadBodyCommand(model_->bodies[*target], WithoutTarget(command));
      if (!goal.ok()) return goal.status();
      if (!held.bodies.emplace(*target, *std::move(goal)).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("commands: \"", command.target(), "\" is commanded twice"));
      }
    } else {
      absl::StatusOr<RobotGoal> goal =
          ReadRobotCommand(*model_, *target - first_robot_, WithoutTarget(command));
      if (!goal.ok()) return goal.status();
      held.robots[*target].push_back(*std::move(goal));
    }
  }
  return [this, held = std::move(held)](const physics::State& state, SteadyTime time) {
    return AdvanceWith(held, state, time);
  };
}

void WorldControl::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  mailbox_.clear();
  for (auto& [target, robot] : robots_) robot.Freeze();
}

void WorldControl::Resume() {
  std::lock_guard lock(mutex_);
  stopped_ = false;
  mailbox_.clear();
}

bool WorldControl::Holds(const std::string& lease_id, Target target) const {
  const auto lease = leases_.leases().find(target);
  return lease != leases_.leases().end() && lease->second.id == lease_id;
}

// Whether a command is recent and from the client that holds the target now.
bool WorldControl::IsFresh(const Command& command, Target target, SteadyTime now) const {
  return now - command.received <= kCommandTime && Holds(command.lease_id, target);
}

void WorldControl::MarkApplied(const Command& command, Target target, std::int64_t step,
                               SteadyTime now) {
  Applied& applied = applied_[target];
  if (applied.lease_id == command.lease_id && applied.sequence == command.sequence) return;
  const std::chrono::duration<double> latency = now - command.received;
  applied = {command.lease_id, command.sequence, step, command.client_time, latency.count()};
  latency_.Add(latency.count());
}

ControlCounters WorldControl::counters() const {
  std::lock_guard lock(mutex_);
  return {static_cast<int>(leases_.leases().size()), latency_};
}

physics::Inputs WorldControl::Advance(const physics::State& state, SteadyTime now) {
  return AdvanceWith({}, state, now);
}

// Held goals take precedence over those of the mailbox.
physics::Inputs WorldControl::AdvanceWith(const Held& held, const physics::State& state,
                                          SteadyTime now) {
  physics::Inputs inputs;
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  for (auto& [body, drive] : drives_) {
    const auto command = mailbox_.find(body);
    std::optional<DriveGoal> goal;
    if (command != mailbox_.end() && IsFresh(command->second, body, now)) {
      goal = command->second.goal;
      MarkApplied(command->second, body, state.step + 1, now);
    }
    if (const auto own = held.bodies.find(body); own != held.bodies.end() && !stopped_)
      goal = own->second;
    if (goal && !drive.engaged()) drive.Engage(physics::CalcBodyPose(*model_, state, body));
    // once commanded, a body stays with its drive, so that a script does not take it back with a
    // jump
    if (drive.engaged()) inputs.poses.push_back({body, drive.Advance(goal, model_->time_step)});
  }
  for (auto& [target, robot] : robots_) {
    const auto command = mailbox_.find(target);
    if (command != mailbox_.end()) {
      MarkApplied(command->second, target, state.step + 1, now);

      // stop the robot when its client no longer holds the lease
      if (!Holds(command->second.lease_id, target)) {
        robot.Freeze();
        mailbox_.erase(command);
      }
    }
    // goals that keep it moving end with the steps through which they were held
    if (held_robots_.erase(target) > 0) robot.Lapse();
    if (const auto own = held.robots.find(target); own != held.robots.end() && !stopped_) {
      for (const RobotGoal& goal : own->second) robot.Take(goal, now);
      held_robots_.insert(target);
    }
    robot.Advance(state, now, &inputs);
  }
  return inputs;
}

void WorldControl::Drop() {
  std::lock_guard lock(mutex_);
  mailbox_.clear();
  applied_.clear();
  for (auto& [body, drive] : drives_) drive.Release();
  for (auto& [target, robot] : robots_) robot.Release();
  held_robots_.clear();
}

ControlStatus WorldControl::Describe(SteadyTime now) {
  ControlStatus status;
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  status.stopped = stopped_;
  for (const auto& [target, lease] : leases_.leases()) {
    CommandEcho echo{lease.id, NameOf(target), lease.client};
    const auto applied = applied_.find(target);
    if (applied != applied_.end() && applied->second.lease_id == lease.id) {
      echo.sequence = applied->second.sequence;
      echo.applied_step = applied->second.step;
      echo.client_time = applied->second.client_time;
      echo.latency = applied->second.latency;
    }
    status.commands.push_back(std::move(echo));
  }
  return status;
}

std::optional<SteadyTime> WorldControl::CalcNextChange() {
  std::optional<SteadyTime> next;
  std::lock_guard lock(mutex_);
  for (const auto& [target, lease] : leases_.leases()) {
    const SteadyTime end = lease.last_use + LeaseTable::kLeaseTime;
    if (!next || end < *next) next = end;
  }
  return next;
}

}  // namespace pliant::server
