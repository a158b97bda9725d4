#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/goals.h"
#include "server/control/targets.h"

namespace pliant::server {

// Reads `numbers` as a vector of three. If they are optional and missing, it is zero.
// INVALID_ARGUMENT, naming the field, when there is another number of them or one is not finite.
absl::Status ReadCommandVector(const char* field,
                               const google::protobuf::RepeatedField<double>& numbers,
                               bool required, Eigen::Vector3d* vector);

// Reads a command's spring or wrench on a body that moves freely or a link, clamped to the body's
// limits. `masses` are those of all bodies [kg]. INVALID_ARGUMENT when the target has no such body
// or vertex, or a number is not allowed.
absl::StatusOr<Pull> ReadPull(const physics::Model& model, const Target& target,
                              const std::vector<double>& masses, const v1::CommandRequest& command);

}  // namespace pliant::server
