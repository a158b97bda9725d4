#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// Atomic file output: a file is written completely or left as it was. Errors name the path, the
// cause and the remedy: RESOURCE_EXHAUSTED when the disk is full, PERMISSION_DENIED, NOT_FOUND or
// UNAVAILABLE otherwise.

// The error for `error`, an errno, of an operation on `path`.
absl::Status FileError(const char* doing, const std::string& path, int error);

// Writes to a temporary file beside `path` and renames it. A device or pipe is written in place; a
// symbolic link is followed.
absl::Status WriteWholeFile(const std::string& path, std::string_view bytes);

// As WriteWholeFile to a regular file, which survives a loss of power when this returns.
absl::Status WriteDurably(const std::string& path, std::string_view bytes);

// Makes renamed, created and removed entries of a folder survive a loss of power.
absl::Status SyncFolder(const std::string& path);

absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Makes a folder and its parents.
absl::Status MakeFolder(const std::string& path);

// True if a relative path names a file that stays below its folder, in at most 255 bytes.
bool IsPathBelow(const std::string& path);

// Checks that WriteWholeFile(path) can be expected to work, before a long run.
absl::Status CheckWritable(const std::string& path);

}  // namespace pliant::server
