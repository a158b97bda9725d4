#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/record.pb.h"

namespace pliant::server {

// The files of its scene in a recording, by their paths.
using RecordedFiles = std::map<std::string, std::string>;

struct ReplayOptions {
  // Builds the model of a recording.
  std::function<absl::StatusOr<std::shared_ptr<const physics::Model>>(const v1::RecordingStart&,
                                                                      const RecordedFiles&)>
      load;
  // Called at the start and after each reset or restore, after each step, and at the end and before
  // each reset or restore; may be null. An error ends the replay.
  std::function<absl::Status(const physics::World&)> on_begin, on_step, on_end;
};

// Steps a world through a recording again, and compares its states with those that were recorded,
// up to the first that differs. Errors: INVALID_ARGUMENT when the file is not a recording, has no
// start, or its model differs from that of `load`; DATA_LOSS when it is damaged or a step cannot be
// repeated; those of `load` and of the callbacks.
absl::StatusOr<v1::ReplayResponse> ReplayRecording(const std::string& path,
                                                   const ReplayOptions& options);

}  // namespace pliant::server
