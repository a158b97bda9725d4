#include "server/control/world_control.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "pliant/v1/world.pb.h"

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
    case v1::TargetCommand::kGains:
      *command.mutable_gains() = given.gains();
      break;
    case v1::TargetCommand::kSpring:
      *command.mutable_spring() = given.spring();
      break;
    case v1::TargetCommand::kWrench:
      *command.mutable_wrench() = given.wrench();
      break;
    case v1::TargetCommand::kGamepad:
      *command.mutable_gamepad() = given.gamepad();
      break;
    case v1::TargetCommand::COMMAND_NOT_SET:
      break;
  }
  return command;
}

absl::Status ExplainStop() {
  return absl::FailedPreconditionError(
      "the world is stopped; call ResumeWorld to command it again");
}

}  // namespace

WorldControl::WorldControl(std::shared_ptr<const physics::Model> model)
    : model_(std::move(model)), targets_(*model_), reader_(*model_) {
  for (const Target& target : targets_.all()) {
    if (target.robot >= 0) {
      if (!target.actuators.empty()) robots_.try_emplace(target.robot, *model_, target.robot);
      continue;
    }
    const physics::Body& body = model_->bodies[target.body];
    if (body.motion == physics::Motion::kKinematic)
      drives_.emplace(target.lease.number, Drive(body.drive));
  }
  num_saved_ = Drive::kNumbers * drives_.size();
  for (const auto& [robot, drive] : robots_) num_saved_ += drive.num_saved();
}

absl::StatusOr<v1::Lease> WorldControl::Acquire(const v1::AcquireLeaseRequest& request,
                                                SteadyTime now) {
  const absl::StatusOr<const Target*> target = targets_.Find(request.target());
  if (!target.ok()) return target.status();
  if (request.priority() < 0 || request.priority() > kMaxPriority) {
    return absl::InvalidArgumentError(absl::StrCat(
        "priority: ", request.priority(), " is not allowed; expected 0 to ", kMaxPriority));
  }
  std::lock_guard lock(mutex_);
  const absl::StatusOr<LeaseTable::Lease> lease =
      leases_.Acquire((*target)->lease, request.client(), request.takeover(), request.priority(),
                      request.lease_id(), now);
  if (!lease.ok()) return lease.status();
  v1::Lease message;
  message.set_lease_id(lease->id);
  message.set_target(request.target());
  message.set_client(lease->client);
  message.set_priority(lease->priority);
  message.set_expires_in(std::chrono::duration<double>(LeaseTable::kLeaseTime).count());
  return message;
}

absl::Status WorldControl::Release(const std::string& lease_id, SteadyTime now) {
  std::lock_guard lock(mutex_);
  return leases_.Release(lease_id, now);
}

bool WorldControl::IsValid(const std::string& lease_id, SteadyTime now) {
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  return Holds(lease_id);
}

absl::StatusOr<std::string> WorldControl::Submit(const v1::CommandRequest& command,
                                                 SteadyTime now) {
  if (!std::isfinite(command.client_time())) {
    return absl::InvalidArgumentError("client_time: not a finite number");
  }
  std::optional<int> target;
  {
    std::lock_guard lock(mutex_);
    target = leases_.FindTarget(command.lease_id());
  }

  // read the goals first, so that a refused command does not count
  absl::StatusOr<Goals> goals = Goals();
  if (target) goals = reader_.Read(targets_.at(*target), command);
  if (!goals.ok()) return goals.status();

  // a lease keeps its target, so the goals read above are still for this one
  std::lock_guard lock(mutex_);
  const absl::StatusOr<int> used = leases_.Use(command.lease_id(), command.sequence(), now);
  if (!used.ok()) return used.status();
  if (stopped_) return ExplainStop();
  if (command.has_epoch() && command.epoch() != epoch_) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch: the world was reset or restored since epoch ", command.epoch(),
                     "; look at a frame of epoch ", epoch_, " and start from there"));
  }
  const Target& commanded = targets_.at(*used);
  if (goals->pull) pulls_[*used] = {command.lease_id(), now, *goals->pull};
  if (const auto robot = robots_.find(commanded.robot); robot != robots_.end())
    robot->second.Take(*goals, command.lease_id(), now);
  mailbox_[*used] = {command.lease_id(), command.sequence(), command.client_time(), now,
                     goals->body};
  return commanded.lease.name;
}

absl::StatusOr<StepInputs> WorldControl::Hold(const std::vector<v1::TargetCommand>& commands,
                                              SteadyTime now) {
  Held held;
  for (const v1::TargetCommand& command : commands) {
    const absl::StatusOr<const Target*> target = targets_.Find(command.target());
    if (!target.ok()) return target.status();
    const LeaseTable::Target& wanted = (*target)->lease;
    if (absl::Status status = CheckFree(wanted, now); !status.ok()) return status;
    absl::StatusOr<Goals> goals = reader_.Read(**target, WithoutTarget(command));
    if (!goals.ok()) return goals.status();
    std::vector<Goals>& of_target = held[wanted.number];
    if ((*target)->robot < 0 && !of_target.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("commands: \"", wanted.name, "\" is commanded twice"));
    }
    of_target.push_back(*std::move(goals));
  }
  return [this, held = std::move(held)](const physics::State& state, SteadyTime time) {
    static const Held kNone;
    std::lock_guard lock(mutex_);
    return AdvanceWith(stopped_ ? kNone : held, state, time);
  };
}

absl::Status WorldControl::CheckFree(const LeaseTable::Target& target, SteadyTime now) {
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  if (const LeaseTable::Lease* lease = leases_.FindHolder(target.units); lease != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("\"", lease->target.name, "\" is driven by ",
                                                      lease->client,
                                                      "; wait until it is released"));
  }
  return stopped_ ? ExplainStop() : absl::OkStatus();
}

absl::StatusOr<ActuatorList> WorldControl::FindActuators(const v1::BatchTarget& joints) const {
  const absl::StatusOr<const Target*> target = targets_.Find(joints.target());
  if (!target.ok()) return target.status();
  v1::CommandRequest command;
  *command.mutable_joint_targets()->mutable_joints() = joints.joints();
  for (int i = 0; i < joints.joints_size(); ++i) command.mutable_joint_targets()->add_values(0);
  const absl::StatusOr<Goals> goals = reader_.Read(**target, command);
  if (!goals.ok()) return goals.status();
  ActuatorList list{(*target)->lease.number, {}};
  for (const JointGoal& goal : goals->joints) list.actuators.push_back(goal.actuator);
  return list;
}

absl::Status WorldControl::CheckTargets(const std::vector<ActuatorList>& lists, SteadyTime now) {
  for (const ActuatorList& list : lists) {
    absl::Status status = CheckFree(targets_.at(list.target).lease, now);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void WorldControl::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  mailbox_.clear();
  pulls_.clear();
  for (auto& [robot, drive] : robots_) drive.Freeze();
}

void WorldControl::Resume() {
  std::lock_guard lock(mutex_);
  stopped_ = false;
}

bool WorldControl::Holds(const std::string& lease_id) const {
  return leases_.FindTarget(lease_id).has_value();
}

bool WorldControl::IsFresh(SteadyTime received, SteadyTime now) const {
  return now - received <= kCommandTime;
}

void WorldControl::MarkApplied(const Command& command, int target, std::int64_t step,
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
  std::lock_guard lock(mutex_);
  return AdvanceWith({}, state, now);
}

physics::Inputs WorldControl::AdvanceTargets(const std::vector<ActuatorList>& lists,
                                             std::span<const double> values,
                                             const physics::State& state, SteadyTime now) {
  std::lock_guard lock(mutex_);
  std::size_t next = 0;
  for (const ActuatorList& list : lists) {
    const auto robot = robots_.find(targets_.at(list.target).robot);
    for (const int actuator : list.actuators) {
      const double value = ClampTarget(*model_, actuator, values[next++]);
      if (robot != robots_.end() && !stopped_) robot->second.TakeJoint({actuator, value}, "", now);
    }
  }
  return AdvanceWith({}, state, now);
}

// Held goals take precedence over those of the mailbox. The caller holds the mutex.
physics::Inputs WorldControl::AdvanceWith(const Held& held, const physics::State& state,
                                          SteadyTime now) {
  physics::Inputs inputs;
  inputs.actuators.reserve(model_->actuators.size());
  inputs.drives.reserve(num_saved_);
  TakeCommands(state, now);

  // without engaged drives a state has no entries for them
  const double* from = state.drives.size() == num_saved_ ? state.drives.data() : nullptr;
  AdvanceBodies(held, state, from, now, &inputs);
  if (from != nullptr) from += Drive::kNumbers * drives_.size();
  AdvanceRobots(held, state, from, now, &inputs);
  AddPulls(held, &inputs);
  if (!is_engaged()) inputs.drives.clear();
  return inputs;
}

// Drops lapsed commands from the mailbox, and marks the rest as applied by the step from `state`.
void WorldControl::TakeCommands(const physics::State& state, SteadyTime now) {
  leases_.Expire(now);
  std::erase_if(mailbox_, [&](const auto& entry) { return !Holds(entry.second.lease_id); });
  std::erase_if(pulls_, [&](const auto& entry) {
    return !Holds(entry.second.lease_id) || !IsFresh(entry.second.received, now);
  });
  for (const auto& [target, command] : mailbox_) {
    // a robot keeps its last goals, but nothing moves a body after its command has lapsed
    if (targets_.at(target).robot >= 0 || IsFresh(command.received, now))
      MarkApplied(command, target, state.step + 1, now);
  }
}

void WorldControl::AdvanceBodies(const Held& held, const physics::State& state, const double* from,
                                 SteadyTime now, physics::Inputs* inputs) {
  for (auto& [target, drive] : drives_) {
    drive.Release();
    if (from != nullptr) {
      drive.Load(from);
      from += Drive::kNumbers;
    }
    std::optional<DriveGoal> goal;
    const auto command = mailbox_.find(target);
    if (command != mailbox_.end() && IsFresh(command->second.received, now))
      goal = command->second.goal;
    if (const auto own = held.find(target); own != held.end()) goal = own->second.front().body;

    // once commanded, a body stays with its drive, so that a script does not take it over with a
    // jump
    const int body = targets_.at(target).body;
    if (goal && !drive.engaged()) drive.Engage(physics::CalcBodyPose(*model_, state, body));
    if (drive.engaged()) inputs->poses.push_back({body, drive.Advance(goal, model_->time_step)});
    drive.Save(&inputs->drives);
  }
}

void WorldControl::AdvanceRobots(const Held& held, const physics::State& state, const double* from,
                                 SteadyTime now, physics::Inputs* inputs) {
  for (const auto& [target, of_target] : held) {
    const auto robot = robots_.find(targets_.at(target).robot);
    if (robot == robots_.end()) continue;
    for (const Goals& goals : of_target) robot->second.Take(goals, "", now);
  }
  const auto holds = [this](const std::string& lease_id) { return Holds(lease_id); };
  for (auto& [robot, drive] : robots_) {
    drive.Advance(state, from, now, holds, inputs);
    if (from != nullptr) from += drive.num_saved();
    drive.Save(&inputs->drives);
  }
}

void WorldControl::AddPulls(const Held& held, physics::Inputs* inputs) const {
  const auto add = [inputs](const Pull& pull) {
    if (const auto* spring = std::get_if<physics::Inputs::PointSpring>(&pull)) {
      inputs->springs.push_back(*spring);
    } else {
      inputs->forces.push_back(std::get<physics::Inputs::AppliedForce>(pull));
    }
  };
  for (const auto& [target, held_pull] : pulls_) add(held_pull.pull);
  for (const auto& [target, of_target] : held) {
    for (const Goals& goals : of_target)
      if (goals.pull) add(*goals.pull);
  }
}

bool WorldControl::is_engaged() const {
  const auto engaged = [](const auto& entry) { return entry.second.engaged(); };
  return std::ranges::any_of(drives_, engaged) || std::ranges::any_of(robots_, engaged);
}

void WorldControl::Drop(std::uint32_t epoch) {
  std::lock_guard lock(mutex_);
  epoch_ = epoch;
  mailbox_.clear();
  pulls_.clear();
  applied_.clear();
  for (auto& [robot, drive] : robots_) drive.Drop();
}

ControlStatus WorldControl::Describe(SteadyTime now) {
  ControlStatus status;
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  status.stopped = stopped_;
  for (const auto& [target, lease] : leases_.leases()) {
    CommandEcho echo{lease.id, lease.target.name, lease.client, lease.priority};
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
