#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pliant::clients {

// Files below `folder` that a scene names, and those that robot files among them name, by their
// paths relative to the folder, sorted. A file counts as named where its name without folders is
// mentioned, so that packages and mesh folders need not be resolved; the server does that. Where
// packages or models are mentioned, their manifests count too. Hidden folders are not searched.
// Throws CommandError if the folder holds too many files, or files that cannot be read.
std::vector<std::string> FindNamedFiles(const std::string& scene,
                                        const std::filesystem::path& folder);

// Reads a whole file. Throws CommandError.
std::string ReadFile(const std::string& path);

}  // namespace pliant::clients
