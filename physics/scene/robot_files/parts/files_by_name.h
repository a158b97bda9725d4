#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pliant::physics {

// The file in `folder`, or in a folder below it, whose path ends in the most components like
// `path`, which may be a URI: at least in the name. Nothing if there is none, or no single best.
// Symbolic links are not followed.
std::optional<std::string> FindFileByName(std::string_view path, const std::string& folder);

}  // namespace pliant::physics
