#include "server/store/data_folder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include <sys/file.h>

#include "server/files/files.h"

namespace pliant::server {
namespace {

absl::Status Unusable(const std::string& path, const std::string& reason) {
  return absl::UnavailableError(absl::StrCat("cannot use the data folder ", path, ": ", reason,
                                             "\n    Make it accessible to the user that runs "
                                             "pliantd, or choose another with --data-dir."));
}

}  // namespace

absl::StatusOr<DataFolder> DataFolder::Open(const std::string& path) {
  DataFolder folder(path, -1);
  for (const std::string& part : {path, folder.worlds(), folder.recordings()}) {
    std::error_code error;
    std::filesystem::create_directories(part, error);
    if (error) return Unusable(path, error.message());
    if (access(part.c_str(), R_OK | W_OK | X_OK) != 0)
      return Unusable(path, absl::StrCat(part, " is not writable"));
  }
  const std::string lock = path + "/lock";
  folder.lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (folder.lock_ < 0) return Unusable(path, std::strerror(errno));
  if (flock(folder.lock_, LOCK_EX | LOCK_NB) != 0) {
    const absl::StatusOr<std::string> owner = ReadWholeFile(lock);
    return absl::UnavailableError(
        absl::StrCat("cannot use the data folder ", path, ": another pliantd uses it (process ",
                     owner.ok() && !owner->empty() ? *owner : "unknown",
                     ")\n    Stop that one first, or choose another folder with --data-dir."));
  }
  // for people who look for the process; the lock itself does not depend on it
  const std::string process = absl::StrCat(getpid());
  if (ftruncate(folder.lock_, 0) != 0 ||
      write(folder.lock_, process.data(), process.size()) != static_cast<ssize_t>(process.size())) {
    return Unusable(path, std::strerror(errno));
  }
  return folder;
}

DataFolder::DataFolder(DataFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataFolder& DataFolder::operator=(DataFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

DataFolder::~DataFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace pliant::server
