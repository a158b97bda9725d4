#include "clients/gamepad/driving/drive.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::clients {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKept{1};  // how long a lease is kept without use of a control

void FindGripper(const v1::RobotDescription& robot, DriveTarget* target) {
  for (const v1::ControllerDescription& controller : robot.controllers()) {
    if (controller.kind() != v1::ControllerDescription::KIND_GRIPPER) continue;
    target->gripper = controller.name();
    for (const v1::JointDescription& joint : robot.joints()) {
      if (controller.joints().empty() || joint.name() != controller.joints(0)) continue;
      target->closed = joint.lower();
      target->open = joint.upper();
    }
    return;
  }
}

}  // namespace

std::vector<DriveTarget> ListDriveTargets(const v1::WorldDescription& world) {
  std::vector<DriveTarget> targets;
  for (const v1::RobotDescription& robot : world.robots()) {
    DriveTarget target{.name = robot.name()};
    FindGripper(robot, &target);
    if (robot.has_gamepad()) {
      target.maps_gamepad = true;
      targets.push_back(target);
      continue;
    }
    for (const v1::ControllerDescription& controller : robot.controllers()) {
      if (controller.kind() != v1::ControllerDescription::KIND_DIFFERENTIAL_IK) continue;
      target.controller = controller.name();
      targets.push_back(target);
    }
  }
  for (const v1::RigidDescription& body : world.rigid_bodies()) {
    if (body.motion() == v1::RigidBody::MOTION_KINEMATIC) targets.push_back({.name = body.name()});
  }
  return targets;
}

absl::StatusOr<std::unique_ptr<Drive>> Drive::Begin(const World& world, const std::string& target,
                                                    double speed, bool takeover) {
  const absl::StatusOr<DescriptionPtr> description = world.Describe();
  if (!description.ok()) return description.status();
  std::vector<DriveTarget> targets = ListDriveTargets((*description)->message());
  if (targets.empty()) {
    return absl::NotFoundError(
        absl::StrCat(world.name(),
                     " has nothing that a gamepad can drive; it takes a KINEMATIC body, or a robot "
                     "with a differential_ik controller or a gamepad profile (docs/scenes.md)"));
  }
  std::size_t current = 0;
  std::string names;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", targets[i].name);
    if (targets[i].name == target) current = i;
  }
  if (!target.empty() && targets[current].name != target) {
    return absl::NotFoundError(absl::StrCat(world.name(), " has no \"", target,
                                            "\" that a gamepad can drive; it has ", names));
  }
  return std::unique_ptr<Drive>(new Drive(world, std::move(targets), current, speed, takeover));
}

Drive::Drive(World world, std::vector<DriveTarget> targets, std::size_t current, double speed,
             bool takeover)
    : world_(std::move(world)),
      targets_(std::move(targets)),
      speed_(speed),
      takeover_(takeover),
      current_(current) {}

void Drive::Update(const std::optional<PadState>& pad) {
  // no gamepad
  if (!pad) {
    Release();
    last_ = {};
    return;
  }
  Act(*pad);
  last_ = *pad;
  const SteadyClock::time_point now = SteadyClock::now();
  if (commands_ != nullptr && !commands_->status().ok()) {
    // the lease was taken over, or the connection broke: the controls must be released first
    problem_ = std::string(commands_->status().message());
    commands_.reset();
    has_moved_ = true;
  }
  if (!IsUsed(*pad)) {
    // send the end of a motion at once, instead of letting the command time out
    if (commands_ != nullptr && has_moved_ && !targets_[current_].maps_gamepad) {
      v1::CommandRequest rest;
      *rest.mutable_twist() = MakeTwist({}, 0);
      rest.set_controller(targets_[current_].controller);
      Send(std::move(rest));
    }
    if (has_moved_ && commands_ != nullptr && targets_[current_].maps_gamepad) {
      v1::CommandRequest rest;
      *rest.mutable_gamepad() = MakeGamepad({});
      Send(std::move(rest));
    }
    has_moved_ = false;
    if (now - used_at_ > kKept) Release();
    return;
  }
  if (commands_ == nullptr && (has_moved_ || !Take())) {
    has_moved_ = true;  // one attempt per use of the controls
    return;
  }
  used_at_ = now;
  has_moved_ = true;
  v1::CommandRequest command;
  if (targets_[current_].maps_gamepad) {
    *command.mutable_gamepad() = MakeGamepad(*pad);
  } else {
    *command.mutable_twist() = MakeTwist(*pad, speed_);
    command.set_controller(targets_[current_].controller);
  }
  Send(std::move(command));
}

bool Drive::WasPressed(const PadState& pad, PadButton button) const {
  return pad.buttons[button] > 0.5 && last_.buttons[button] <= 0.5;
}

void Drive::Act(const PadState& pad) {
  if (WasPressed(pad, kStop)) {
    const absl::Status status = world_.Stop();
    problem_ =
        status.ok() ? "stopped; `pliant resume` lifts the stop" : std::string(status.message());
  }
  if (WasPressed(pad, kNext) && targets_.size() > 1) {
    Release();
    current_ = (current_ + 1) % targets_.size();
    is_gripping_ = false;
    problem_.clear();
  }
  if (WasPressed(pad, kGrip) && !targets_[current_].gripper.empty() &&
      (commands_ != nullptr || Take())) {
    const DriveTarget& target = targets_[current_];
    is_gripping_ = !is_gripping_;
    v1::CommandRequest command;
    command.mutable_gripper()->set_controller(target.gripper);
    command.mutable_gripper()->set_position(is_gripping_ ? target.closed : target.open);
    Send(std::move(command));
    used_at_ = SteadyClock::now();
  }
}

bool Drive::Take() {
  problem_.clear();
  auto lease = world_.Acquire(targets_[current_].name, {.takeover = takeover_});
  if (lease.ok()) {
    auto commands = world_.Command(*std::move(lease));
    if (commands.ok()) {
      commands_ = *std::move(commands);
      used_at_ = SteadyClock::now();
      return true;
    }
    problem_ = std::string(commands.status().message());
    return false;
  }
  problem_ = std::string(lease.status().message());
  return false;
}

void Drive::Send(v1::CommandRequest command) {
  if (commands_ == nullptr) return;
  const absl::Status status = commands_->Send(std::move(command));
  if (!status.ok()) problem_ = std::string(status.message());
  const std::string refused = commands_->last_response().refused();
  if (!refused.empty()) problem_ = refused;
}

void Drive::Release() {
  commands_.reset();
  has_moved_ = false;
}

double Drive::force() const {
  if (commands_ == nullptr) return 0;
  const v1::CommandResponse response = commands_->last_response();
  if (response.force_size() != 3) return 0;
  return std::hypot(response.force(0), response.force(1), response.force(2));
}

}  // namespace pliant::clients
