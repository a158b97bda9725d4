#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace pliant {

// One field of a request or a scene that the server refuses.
struct FieldViolation {
  std::string field;        // its path: bodies[1].deformable.material.poissons_ratio
  std::string description;  // the value, what was expected, and the mend
};

// The status of a part of a reply, such as one world in StepWorldsResponse, with its details as
// payloads.
absl::Status ReadStatus(const google::rpc::Status& status);

// The fields that a status of the server names (google.rpc.BadRequest); none for other errors. All
// details of a status are its payloads, under their type URLs.
std::vector<FieldViolation> ListFieldViolations(const absl::Status& status);

// Type of the payload of errors about a file on this machine: its path.
inline constexpr char kFileProblem[] = "pliant.client/file";

}  // namespace pliant
