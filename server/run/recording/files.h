#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// Files as a run leaves them: whole, or as they were. Errors name the path, the cause and the mend:
// RESOURCE_EXHAUSTED when the disk is full, PERMISSION_DENIED, NOT_FOUND or UNAVAILABLE otherwise.

// Writes to a temporary file beside `path` and renames it. What is no regular file (a device, a
// pipe) is written in place; a symbolic link is followed.
absl::Status WriteWholeFile(const std::string& path, std::string_view bytes);

absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Makes a folder and its parents.
absl::Status MakeFolder(const std::string& path);

// Whether WriteWholeFile(path) can be expected to work: asked before a long run, not after it.
absl::Status CheckWritable(const std::string& path);

}  // namespace pliant::server
