#pragma once

#include "absl/status/status.h"

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Where a step failed; −1: not known, or none. An error carries it, so that no caller has to read
// it out of a message.
struct FaultPlace {
  int block = -1;
  int body = -1;   // in Model::bodies; the first of the block's where that alone is known
  int other = -1;  // the second body of a contact
};

// `error` with its place attached, and the names of the bodies in front of its message.
absl::Status FailAtBlock(const Model& model, int block, const absl::Status& error);
absl::Status FailAtContact(const Model& model, int body_a, int body_b, const absl::Status& error);

// The place that an error carries.
FaultPlace PlaceOf(const absl::Status& error);

}  // namespace pliant::physics
