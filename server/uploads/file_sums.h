#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace pliant::server {

// SHA-256 of files that are no longer written. Each file is read once, until its size or
// modification time changes.
class FileSums {
 public:
  static constexpr std::size_t kMaxKnown = 1024;

  // UNAVAILABLE if the file cannot be read. Not to be called on a network thread.
  absl::StatusOr<std::string> Find(const std::string& path);

 private:
  struct Known {
    std::string stamp;  // of size and time
    std::string sum;
  };
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by path
};

}  // namespace pliant::server
