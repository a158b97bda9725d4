#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace pliant {

// Called before each file of a scene is sent: its number from 0, how many there are, and its path.
using UploadProgress = std::function<void(std::size_t, std::size_t, const std::string&)>;

// Files below `folder` that a scene names, and those that robots and meshes among them name, by
// their paths relative to the folder, sorted. A file counts as named if its name without folders is
// mentioned, so packages and mesh folders need not be resolved; the server does that. If packages
// or models are mentioned, their manifests count too. Hidden folders are not searched.
// INVALID_ARGUMENT if the folder holds too many files, or files that cannot be read.
absl::StatusOr<std::vector<std::string>> FindNamedFiles(const std::string& scene,
                                                        const std::filesystem::path& folder);

// True if a file is a robot or a mesh by its extension, from which the server can create a world.
bool IsRobotOrMesh(const std::filesystem::path& path);

// The imported files, by their paths relative to `folder`, and the files below it that they name,
// directly or through others. Errors as of FindNamedFiles.
absl::StatusOr<std::vector<std::string>> FindImportedFiles(const std::vector<std::string>& imported,
                                                           const std::filesystem::path& folder);

// SHA-256 as 64 hexadecimal digits.
std::string CalcSha256(std::string_view bytes);

}  // namespace pliant
