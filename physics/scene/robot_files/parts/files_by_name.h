#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pliant::physics {

// Finds the file in `folder` or its subfolders whose path has the most trailing components in
// common with `path`, which may be a URI; at least the name must match. Nothing if there is none,
// or no single best one. Symbolic links are not followed.
std::optional<std::string> FindFileByName(std::string_view path, const std::string& folder);

}  // namespace pliant::physics
