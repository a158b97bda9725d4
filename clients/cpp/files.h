#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace pliant {

// INVALID_ARGUMENT that names a file, with the payload kFileProblem.
absl::Status FileError(const std::string& path, const std::string& problem);

// Content of a file, or FileError if it cannot be read.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// SHA-256 of a file, or FileError if it cannot be read.
absl::StatusOr<std::string> CalcFileSha256(const std::string& path);

}  // namespace pliant
