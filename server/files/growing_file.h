#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// A file that is only appended to. Errors as in files.h.
class GrowingFile {
 public:
  // Makes a file that does not exist yet. It survives a loss of power after the first Sync.
  static absl::StatusOr<GrowingFile> Create(const std::string& path);

  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&& other) noexcept;
  ~GrowingFile();

  // Writes all of `bytes` or nothing: after an error the file is as it was before.
  absl::Status Append(std::string_view bytes);

  // Waits until all bytes are on the disk. May be called while another thread appends.
  absl::Status Sync();

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }  // [bytes]

 private:
  GrowingFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_ = -1;
  std::int64_t size_ = 0;
  bool is_listed_ = false;  // its folder was synced
};

}  // namespace pliant::server
