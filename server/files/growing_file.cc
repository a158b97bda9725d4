#include "server/files/growing_file.h"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include "server/files/files.h"

namespace pliant::server {

absl::StatusOr<GrowingFile> GrowingFile::Create(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return FileError("create", path, errno);
  return GrowingFile(path, file);
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      is_listed_(other.is_listed_) {}

GrowingFile& GrowingFile::operator=(GrowingFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  std::swap(is_listed_, other.is_listed_);
  return *this;
}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) close(file_);
}

absl::Status GrowingFile::Append(std::string_view bytes) {
  const std::int64_t before = size_;
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const absl::Status status = FileError("write", path_, errno);
      if (ftruncate(file_, before) == 0) size_ = before;
      return status;
    }
    size_ += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status GrowingFile::Sync() {
  if (fdatasync(file_) != 0) return FileError("write", path_, errno);
  if (std::atomic_ref(is_listed_).exchange(true)) return absl::OkStatus();
  return SyncFolder(std::filesystem::path(path_).parent_path().string());
}

}  // namespace pliant::server
