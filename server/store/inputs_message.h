#pragma once

#include "absl/status/statusor.h"

#include "physics/dynamics/inputs.h"
#include "pliant/v1/inputs.pb.h"

namespace pliant::server {

// Inputs of a step as a message, with every bit of their numbers.
v1::StepInputs WriteInputs(const physics::Inputs& inputs);

// INVALID_ARGUMENT when a list of numbers has the wrong length.
absl::StatusOr<physics::Inputs> ReadInputs(const v1::StepInputs& message);

bool IsEmpty(const physics::Inputs& inputs);

}  // namespace pliant::server
