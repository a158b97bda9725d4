#include "server/uploads/file_sums.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "server/uploads/sha256.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{1} << 20;

}  // namespace

absl::StatusOr<std::string> FileSums::Find(const std::string& path) {
  std::error_code size_error, time_error;
  const auto size = fs::file_size(path, size_error);
  const auto time = fs::last_write_time(path, time_error);
  if (size_error || time_error) return absl::UnavailableError("cannot read " + path);
  const std::string stamp = absl::StrCat(size, " ", time.time_since_epoch().count());
  {
    std::lock_guard lock(mutex_);
    const auto known = known_.find(path);
    if (known != known_.end() && known->second.stamp == stamp) return known->second.sum;
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(kBlock);
  Sha256 sum;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    sum.Add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) return absl::UnavailableError("cannot read " + path);
  std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  return (known_[path] = {stamp, sum.Finish()}).sum;
}

}  // namespace pliant::server
