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

std::optional<std::vector<std::string>> ListFiles(const std::string& folder, std::size_t limit) {
  std::vector<std::string> files;
  std::size_t entries = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), last; !error && entry != last;
       entry.increment(error)) {
    if (++entries > limit) return std::nullopt;
    std::error_code unreadable;
    if (fs::is_regular_file(entry->symlink_status(unreadable)))  // links may lead out
      files.push_back(entry->path().string());
  }
  return files;
}

std::optional<std::string> PickFileByName(std::string_view path, const std::string& folder,
                                          const std::vector<std::string>& files) {
  std::string wanted(path);
  std::replace(wanted.begin(), wanted.end(), '\\', '/');
  const fs::path end = fs::path(wanted).lexically_normal();
  if (!end.has_filename()) return std::nullopt;
  std::optional<std::string> best;
  int longest = 0;
  bool is_single = false;
  for (const std::string& file : files) {
    const int common = CountCommonEnd(fs::path(file).lexically_relative(folder), end);
    if (common == 0 || common < longest) continue;
    is_single = common > longest;
    longest = common;
    best = file;
  }
  return is_single ? best : std::nullopt;
}

std::optional<std::string> FindFileByName(std::string_view path, const std::string& folder) {
  return PickFileByName(path, folder, *ListFiles(folder));
}

}  // namespace pliant::physics
