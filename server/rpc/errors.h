#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pliant/v1/gateway.pb.h"

namespace pliant::physics {
struct SceneMessage;
}

namespace pliant::server {

// INVALID_ARGUMENT with all errors of a scene, one a line, and a google.rpc.BadRequest that names each field.
absl::Status SceneError(const std::vector<physics::SceneMessage>& messages);

// google.rpc.Status of an error, details included; what both transports carry.
v1::Status WriteStatus(const absl::Status& status);

}  // namespace pliant::server
