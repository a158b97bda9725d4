#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "server/store/world_folder.h"

namespace pliant::server {

// A durable world as it was last written.
struct RecoveredWorld {
  physics::World world;
  std::int64_t last_number = 0;       // of the checkpoints and logs in its folder
  std::int64_t replayed = 0;          // steps after the checkpoint
  std::vector<std::string> warnings;  // about damaged files, unused or at the end of the log
};

// Recovers a world: loads the newest checkpoint that can be read, and replays the log since then.
// Nothing in the folder is changed. Errors name the file: INVALID_ARGUMENT when no
// checkpoint can be read, or a log is of another version; DATA_LOSS when a log is missing or
// damaged before its end, or when the replay leads to another state.
absl::StatusOr<RecoveredWorld> RecoverWorld(const WorldFolder& folder,
                                            std::shared_ptr<const physics::Model> model);

// Applies one change to a world. DATA_LOSS when it cannot be repeated.
absl::Status Repeat(const v1::LogRecord& record, physics::World* world);

}  // namespace pliant::server
