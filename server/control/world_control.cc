#include "server/control/world_control.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "physics/spatial/demand.h"

namespace pliant::server {
namespace {

// `numbers` as a vector of three, or zero when it is left out.
absl::Status ReadVector(const char* field, const google::protobuf::RepeatedField<double>& numbers,
                        bool required, Eigen::Vector3d* vector) {
  vector->setZero();
  if (numbers.empty() && !required) return absl::OkStatus();
  if (numbers.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", numbers.size(), " numbers; expected 3"));
  }
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(numbers[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": ", numbers[i], " is not a finite number"));
    }
    (*vector)[i] = numbers[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<DriveGoal> ReadGoal(const v1::CommandRequest& command) {
  if (command.command_case() == v1::CommandRequest::kTwist) {
    TwistGoal goal;
    absl::Status status = ReadVector("twist.linear", command.twist().linear(), false, &goal.linear);
    if (!status.ok()) return status;
    status = ReadVector("twist.angular", command.twist().angular(), false, &goal.angular);
    if (!status.ok()) return status;
    return goal;
  }
  if (command.command_case() != v1::CommandRequest::kPose) {
    return absl::InvalidArgumentError("command: nothing is commanded; expected twist or pose");
  }
  PoseGoal goal;
  const absl::Status status =
      ReadVector("pose.position", command.pose().position(), true, &goal.position);
  if (!status.ok()) return status;
  const auto& q = command.pose().quaternion();
  if (q.size() != 0 && q.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("pose.quaternion: ", q.size(), " numbers; expected w, x, y, z"));
  }
  if (q.size() == 4) {
    goal.orientation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
    const double size = goal.orientation.norm();
    if (!std::isfinite(size) || size < 1e-6) {
      return absl::InvalidArgumentError(
          "pose.quaternion: not a rotation; expected four finite numbers, not all zero");
    }
    goal.orientation.normalize();
  }
  return goal;
}

}  // namespace

WorldControl::WorldControl(std::shared_ptr<const physics::Model> model, const DriveLimits& limits)
    : model_(std::move(model)) {
  for (int body = 0; body < static_cast<int>(model_->bodies.size()); ++body) {
    if (model_->bodies[body].motion == physics::Motion::kKinematic)
      drives_.emplace(body, Drive(limits));
  }
}

absl::StatusOr<LeaseTable::Lease> WorldControl::Acquire(const v1::AcquireLeaseRequest& request,
                                                        SteadyTime now) {
  const int body = physics::FindBody(*model_, request.target());
  if (!drives_.contains(body)) {
    std::vector<std::string> names;
    for (const auto& [kinematic, drive] : drives_) names.push_back(model_->bodies[kinematic].name);
    const std::string choice =
        names.empty() ? "; this world has no KINEMATIC body"
                      : absl::StrCat("; expected one of: ", absl::StrJoin(names, ", "));
    if (body < 0) {
      return absl::NotFoundError(absl::StrCat("target: there is no body \"",
                                              request.target().substr(0, 80), "\"", choice));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "target: \"", request.target(), "\" is not KINEMATIC and takes no commands", choice));
  }
  std::lock_guard lock(mutex_);
  return leases_.Acquire(body, request.target(), request.client(), request.takeover(),
                         request.lease_id(), now);
}

absl::Status WorldControl::Release(const std::string& lease_id, SteadyTime now) {
  std::lock_guard lock(mutex_);
  return leases_.Release(lease_id, now);
}

absl::Status WorldControl::Submit(const v1::CommandRequest& command, SteadyTime now) {
  absl::StatusOr<DriveGoal> goal = ReadGoal(command);
  if (!goal.ok()) return goal.status();
  if (!std::isfinite(command.client_time())) {
    return absl::InvalidArgumentError("client_time: not a finite number");
  }
  std::lock_guard lock(mutex_);
  const absl::StatusOr<int> body = leases_.Use(command.lease_id(), command.sequence(), now);
  if (!body.ok()) return body.status();
  if (stopped_)
    return absl::FailedPreconditionError(
        "the world is stopped; call ResumeWorld to command it again");
  mailbox_[*body] = {command.lease_id(), command.sequence(), command.client_time(), now, *goal};
  return absl::OkStatus();
}

int WorldControl::FindTarget(const std::string& lease_id) const {
  std::lock_guard lock(mutex_);
  return leases_.FindTarget(lease_id).value_or(-1);
}

void WorldControl::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  mailbox_.clear();
}

void WorldControl::Resume() {
  std::lock_guard lock(mutex_);
  stopped_ = false;
  mailbox_.clear();
}

std::optional<DriveGoal> WorldControl::FindGoal(int body, SteadyTime now) const {
  const auto command = mailbox_.find(body);
  if (stopped_ || command == mailbox_.end() || now - command->second.received > kCommandTime)
    return std::nullopt;

  // only whoever holds the body now
  const auto lease = leases_.leases().find(body);
  if (lease == leases_.leases().end() || lease->second.id != command->second.lease_id)
    return std::nullopt;
  return command->second.goal;
}

physics::Inputs WorldControl::Advance(const physics::State& state, SteadyTime now) {
  physics::Inputs inputs;
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  for (auto& [body, drive] : drives_) {
    const std::optional<DriveGoal> goal = FindGoal(body, now);
    if (goal) {
      const Command& command = mailbox_.at(body);
      Applied& applied = applied_[body];
      if (applied.lease_id != command.lease_id || applied.sequence != command.sequence) {
        applied = {command.lease_id, command.sequence, state.step + 1, command.client_time};
      }
      if (!drive.engaged()) drive.Engage(physics::CalcBodyPose(*model_, state, body));
    }
    // once commanded a body stays with its drive, so that a script does not snatch it back with a jump
    if (drive.engaged()) inputs.poses.push_back({body, drive.Advance(goal, model_->time_step)});
  }
  return inputs;
}

void WorldControl::Drop() {
  std::lock_guard lock(mutex_);
  mailbox_.clear();
  applied_.clear();
  for (auto& [body, drive] : drives_) drive.Release();
}

ControlStatus WorldControl::Describe(SteadyTime now) {
  ControlStatus status;
  std::lock_guard lock(mutex_);
  leases_.Expire(now);
  status.stopped = stopped_;
  for (const auto& [body, lease] : leases_.leases()) {
    CommandEcho echo{lease.id, model_->bodies[body].name, lease.client, 0, 0, 0};
    const auto applied = applied_.find(body);
    if (applied != applied_.end() && applied->second.lease_id == lease.id) {
      echo.sequence = applied->second.sequence;
      echo.applied_step = applied->second.step;
      echo.client_time = applied->second.client_time;
    }
    status.commands.push_back(std::move(echo));
  }
  return status;
}

std::optional<SteadyTime> WorldControl::CalcNextChange() {
  std::optional<SteadyTime> next;
  std::lock_guard lock(mutex_);
  for (const auto& [body, lease] : leases_.leases()) {
    const SteadyTime end = lease.last_use + LeaseTable::kLeaseTime;
    if (!next || end < *next) next = end;
  }
  return next;
}

WorldControl& ControlOf(WorldHost& host) {
  auto* control = dynamic_cast<WorldControl*>(&host.controller());
  PLIANT_DEMAND(control != nullptr);
  return *control;
}

}  // namespace pliant::server
