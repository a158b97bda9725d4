#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/checkpoint.pb.h"
#include "server/store/world_folder.h"

namespace pliant::server {

// The checkpoints in the folder of a world called `world` (worlds/{world_id}): named ones, and
// automatic ones, whose ids are auto-N.

inline constexpr int kMaxNamedCheckpoints = 64;  // of one world

// INVALID_ARGUMENT for an id that is not [a-z0-9-]{1,63} or begins with auto-, ALREADY_EXISTS,
// RESOURCE_EXHAUSTED when there are kMaxNamedCheckpoints, and errors of the disk.
absl::StatusOr<v1::Checkpoint> SaveCheckpoint(const WorldFolder& folder, const std::string& world,
                                              const std::string& id,
                                              const physics::Snapshot& snapshot);

// Lists checkpoints in the order in which they were taken, whatever the times of their files. A
// file that cannot be read has its name, and no hash.
std::vector<v1::Checkpoint> ListCheckpoints(const WorldFolder& folder, const std::string& world);

// The bytes of the state. NOT_FOUND, or INVALID_ARGUMENT when the file is damaged.
absl::StatusOr<std::string> ReadCheckpointState(const WorldFolder& folder, const std::string& id);

// NOT_FOUND, or FAILED_PRECONDITION for an automatic one.
absl::Status DeleteCheckpoint(const WorldFolder& folder, const std::string& id);

}  // namespace pliant::server
