#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/goals.h"
#include "server/control/targets.h"

namespace pliant::server {

// The target of an actuator within the limits of its joint and of its effort.
double ClampTarget(const physics::Model& model, int actuator, double value);

// Reads commands, clamped to the limits of the scene and of the joints.
class CommandReader {
 public:
  explicit CommandReader(const physics::Model& model);

  // INVALID_ARGUMENT when the target takes no such command, when a number is not finite or a list
  // has the wrong length, and when it names a joint or controller that does not exist or cannot be
  // driven; the message lists the valid ones.
  absl::StatusOr<Goals> Read(const Target& target, const v1::CommandRequest& command) const;

 private:
  absl::StatusOr<Goals> ReadBody(const Target& target, const v1::CommandRequest& command) const;
  absl::StatusOr<Goals> ReadRobot(const Target& target, const v1::CommandRequest& command) const;

  const physics::Model& model_;
  std::vector<double> masses_;  // of bodies [kg]
};

}  // namespace pliant::server
