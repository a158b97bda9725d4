#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// The data directory of a server, which no other server may use at the same time:
//
//   lock          held by the server that runs
//   worlds/       durable worlds, a folder each
//   recordings/   recordings, a file each
class DataFolder {
 public:
  // Makes the folder if need be and takes the lock. UNAVAILABLE, with the remedy, when it cannot be
  // made or written, or when another server uses it.
  static absl::StatusOr<DataFolder> Open(const std::string& path);

  DataFolder(DataFolder&& other) noexcept;
  DataFolder& operator=(DataFolder&& other) noexcept;
  ~DataFolder();

  const std::string& path() const { return path_; }
  std::string worlds() const { return path_ + "/worlds"; }
  std::string recordings() const { return path_ + "/recordings"; }

 private:
  DataFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
};

}  // namespace pliant::server
