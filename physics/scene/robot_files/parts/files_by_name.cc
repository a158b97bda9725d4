#include "physics/scene/robot_files/parts/files_by_name.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

// Number of trailing components that two paths have in common.
int CountCommonEnd(const fs::path& a, const fs::path& b) {
  int count = 0;
  auto p = a.end(), q = b.end();
  while (p != a.begin() && q != b.begin() && *--p == *--q) ++count;
  return count;
}

}  // namespace

std::optional<std::string> FindFileByName(std::string_view path, const std::string& folder) {
  std::string wanted(path);
  std::replace(wanted.begin(), wanted.end(), '\\', '/');
  const fs::path end = fs::path(wanted).lexically_normal();
  if (!end.has_filename()) return std::nullopt;
  std::optional<std::string> best;
  int longest = 0;
  bool is_single = false;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), last; !error && entry != last;
       entry.increment(error)) {
    std::error_code unreadable;
    if (!fs::is_regular_file(entry->symlink_status(unreadable))) continue;  // links may lead out
    const int common = CountCommonEnd(entry->path().lexically_relative(folder), end);
    if (common == 0 || common < longest) continue;
    is_single = common > longest;
    longest = common;
    best = entry->path().string();
  }
  return is_single ? best : std::nullopt;
}

}  // namespace pliant::physics
