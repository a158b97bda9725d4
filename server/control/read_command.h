#pragma once

#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/drive.h"
#include "server/control/robot_drive.h"

namespace pliant::server {

// Reads a command to a KINEMATIC body. INVALID_ARGUMENT when it is not a command for a body, not
// finite, or of the wrong length.
absl::StatusOr<DriveGoal> ReadBodyCommand(const physics::Body& body,
                                          const v1::CommandRequest& command);

// Reads a command to a robot, clamped to the limits of its joints. INVALID_ARGUMENT as above, and
// when it names a joint or controller that does not exist or cannot be driven; the message lists
// the valid ones.
absl::StatusOr<RobotGoal> ReadRobotCommand(const physics::Model& model, int robot,
                                           const v1::CommandRequest& command);

}  // namespace pliant::server
