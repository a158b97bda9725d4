#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

#include "pliant/v1/world.pb.h"

namespace pliant::physics {
struct SceneMessage;
}

namespace pliant::server {

// INVALID_ARGUMENT with all errors of a scene, or of a part of one, one a line, and a
// google.rpc.BadRequest that names each field. `what` is the first line.
absl::Status SceneError(const std::vector<physics::SceneMessage>& messages,
                        const char* what = "the scene is invalid");

// Adds the warnings among the messages about a scene to the reply to its creation.
void AddWarnings(const std::vector<physics::SceneMessage>& messages, v1::World* world);

// FAILED_PRECONDITION for a server without a folder for uploads.
absl::Status NoUploads();

// An error with its details, as sent by both transports.
google::rpc::Status WriteStatus(const absl::Status& status);

}  // namespace pliant::server
