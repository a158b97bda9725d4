#include "server/files/files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <sys/stat.h>

namespace pliant::server {

absl::Status FileError(const char* doing, const std::string& path, int error) {
  const std::string what = absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ". Free some space there, or choose a folder on another disk."));
    case EFBIG:
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ". Raise the limit on the size of files (ulimit -f)."));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(absl::StrCat(
          what, ". Choose a folder that you may write to, or change its permissions."));
    case ENOENT:
      return absl::NotFoundError(
          absl::StrCat(what, ". Create the folder first, or correct the path."));
    case ENOTDIR:
    case EEXIST:
      return absl::NotFoundError(
          absl::StrCat(what, ". A part of the path is a file, not a folder."));
    case EISDIR:
      return absl::NotFoundError(absl::StrCat(what, ". Give the path of a file."));
    default:
      return absl::UnavailableError(absl::StrCat(what, "."));
  }
}

namespace {

namespace fs = std::filesystem;

bool IsSpecial(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// Follows links, so that the rename replaces the file and not the link.
std::string Resolve(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

absl::Status WriteAll(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteInPlace(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return FileError("open", path, errno);
  absl::Status status = WriteAll(file, bytes, path);
  if (close(file) != 0 && status.ok()) status = FileError("write", path, errno);
  return status;
}

// Writes beside `target`, which `path` resolves to, and renames.
absl::Status ReplaceFile(const std::string& path, const std::string& target, std::string_view bytes,
                         bool is_durable) {
  std::string temporary = target + ".part-XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return FileError("write", path, errno);

  absl::Status status = WriteAll(file, bytes, path);
  if (status.ok() && fchmod(file, 0644) != 0) status = FileError("write", path, errno);
  if (status.ok() && is_durable && fsync(file) != 0) status = FileError("write", path, errno);
  // a full disk may be reported only here
  if (close(file) != 0 && status.ok()) status = FileError("write", path, errno);
  if (status.ok() && rename(temporary.c_str(), target.c_str()) != 0) {
    status = FileError("write", path, errno);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace

absl::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  if (IsSpecial(path)) return WriteInPlace(path, bytes);
  return ReplaceFile(path, Resolve(path), bytes, false);
}

absl::Status WriteDurably(const std::string& path, std::string_view bytes) {
  if (absl::Status status = ReplaceFile(path, path, bytes, true); !status.ok()) return status;
  return SyncFolder(fs::path(path).parent_path().string());
}

absl::Status SyncFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return FileError("open", path, errno);
  const absl::Status status =
      fsync(folder) == 0 ? absl::OkStatus() : FileError("write", path, errno);
  close(folder);
  return status;
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  if (fs::is_directory(path)) return FileError("read", path, EISDIR);
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileError("read", path, errno);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (file.bad()) return FileError("read", path, errno);
  return std::move(bytes).str();
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FileError("create the folder", path, error.value());
  if (!fs::is_directory(path)) return FileError("create the folder", path, ENOTDIR);
  return absl::OkStatus();
}

bool IsPathBelow(const std::string& path) {
  constexpr std::size_t kMaxPath = 255;
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !path.empty() && path.size() <= kMaxPath && !normal.is_absolute() &&
         normal.has_filename() && *normal.begin() != ".." && normal != "." &&
         path.find('\0') == std::string::npos;
}

absl::Status CheckWritable(const std::string& path) {
  if (fs::is_directory(path)) return FileError("write", path, EISDIR);
  if (IsSpecial(path)) {
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : FileError("write", path, errno);
  }
  std::string trial = Resolve(path) + ".part-XXXXXX";
  const int file = mkostemp(trial.data(), O_CLOEXEC);
  if (file < 0) return FileError("write", path, errno);
  close(file);
  unlink(trial.c_str());
  return absl::OkStatus();
}

}  // namespace pliant::server
