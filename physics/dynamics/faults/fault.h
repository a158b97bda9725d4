#pragma once

#include "absl/status/status.h"

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Place at which a step failed; −1: unknown or none. Attached to the error, so that callers need
// not parse its message.
struct FaultPlace {
  int block = -1;
  int body = -1;   // in Model::bodies; the block's first where only the block is known
  int other = -1;  // the second body of a contact
};

// `error` with its place attached and the names of the bodies prepended to its message.
absl::Status FailAtBlock(const Model& model, int block, const absl::Status& error);
absl::Status FailAtContact(const Model& model, int body_a, int body_b, const absl::Status& error);

// The place attached to an error.
FaultPlace PlaceOf(const absl::Status& error);

}  // namespace pliant::physics
