#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "clients/gamepad/driving/layout.h"
#include "pliant/client.h"

namespace pliant::clients {

// A target that can be driven: a KINEMATIC body, a robot that maps the gamepad itself, or the tool
// of a robot.
struct DriveTarget {
  std::string name;          // of the body or the robot
  std::string controller{};  // of a tool
  bool maps_gamepad = false;
  std::string gripper{};        // controller of the robot's gripper; empty: none
  double closed = 0, open = 0;  // its positions: the limits of its first joint

  bool operator==(const DriveTarget&) const = default;
};

std::vector<DriveTarget> ListDriveTargets(const v1::WorldDescription& world);

// Drives one target at a time from the states of a gamepad. A lease is held while a control is used
// (hold to run) and for a second afterwards; it is released at once when the gamepad is unplugged.
class Drive {
 public:
  // NOT_FOUND, with advice, if nothing can be driven or there is no such target. `speed` is that
  // of a full deflection [m/s].
  static absl::StatusOr<std::unique_ptr<Drive>> Begin(const World& world, const std::string& target,
                                                      double speed, bool takeover);

  // Takes the state of the gamepad; nullopt if it is unplugged. Call it at about 60 Hz.
  void Update(const std::optional<PadState>& pad);

  const DriveTarget& target() const { return targets_[current_]; }
  bool is_driving() const { return commands_ != nullptr; }
  Latency latency() const { return commands_ == nullptr ? Latency{} : commands_->latency(); }
  // Size of the contact force on the target [N], from the last feedback.
  double force() const;
  // The last problem; empty if there was none since the target was taken.
  const std::string& problem() const { return problem_; }

 private:
  Drive(World world, std::vector<DriveTarget> targets, std::size_t current, double speed,
        bool takeover);
  void Release();
  bool Take();
  void Send(v1::CommandRequest command);
  void Act(const PadState& pad);
  bool WasPressed(const PadState& pad, PadButton button) const;

  const World world_;
  const std::vector<DriveTarget> targets_;
  const double speed_;
  const bool takeover_;
  std::size_t current_;
  std::unique_ptr<CommandStream> commands_;
  PadState last_;
  bool is_gripping_ = false;
  bool has_moved_ = false;  // since the controls were released
  std::chrono::steady_clock::time_point used_at_;
  std::string problem_;
};

}  // namespace pliant::clients
