#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/storage.pb.h"

namespace pliant::server {

// A saved state in a file: magic, version, head, the bytes of SerializeState, and a checksum of all
// that. Files of another version are refused and never changed.

// `head` has the fields that the snapshot does not provide, see WorldFolder::NextHead.
std::string EncodeCheckpoint(const physics::Snapshot& snapshot, v1::CheckpointHead head);

struct CheckpointContents {
  v1::CheckpointHead head;
  std::string state;
};

// INVALID_ARGUMENT when the bytes are cut short, damaged, or of another version.
absl::StatusOr<CheckpointContents> DecodeCheckpoint(std::string_view bytes);

// As above for a file; errors name it. `ReadCheckpointHead` reads and checks no state, and returns
// its size in bytes too.
absl::StatusOr<CheckpointContents> ReadCheckpoint(const std::string& path);
absl::StatusOr<std::pair<v1::CheckpointHead, std::int64_t>> ReadCheckpointHead(
    const std::string& path);

}  // namespace pliant::server
