#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::physics {

// The regular files in `folder` and its subfolders; nothing if there are more than `limit` entries.
// Symbolic links are not followed.
std::optional<std::vector<std::string>> ListFiles(
    const std::string& folder, std::size_t limit = std::numeric_limits<std::size_t>::max());

// The file of `files`, which are in `folder`, whose path below it has the most trailing components
// in common with `path`, which may be a URI; at least the name must match. Nothing if there is
// none, or no single best one.
std::optional<std::string> PickFileByName(std::string_view path, const std::string& folder,
                                          const std::vector<std::string>& files);

// The same of all files in `folder` and its subfolders.
std::optional<std::string> FindFileByName(std::string_view path, const std::string& folder);

}  // namespace pliant::physics
