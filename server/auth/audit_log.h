#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace pliant::server {

// Log of requests with their client, world, time and result: one JSON object a line, in a file that
// is rotated, so that the log is bounded. A separate thread writes it. Equal entries within a
// second are counted instead of written again, so that no client fills the log with one refusal.
class AuditLog {
 public:
  struct Entry {
    std::string who;         // user, or connection of a client without a token
    std::string connection;  // e.g. "ws-3"
    std::string what;        // method
    std::string world;       // may be empty
    absl::Status result;
  };

  struct Limits {
    std::size_t bytes = 16 << 20;  // of one file
    std::size_t files = 10;
  };

  // UNAVAILABLE when the file cannot be written.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path, Limits limits);
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path) {
    return Open(path, Limits());
  }
  ~AuditLog();

  // Does not block.
  void Write(const Entry& entry, std::chrono::steady_clock::time_point now);

 private:
  struct Repeated {
    Entry entry;
    std::chrono::steady_clock::time_point since;
    std::uint64_t count = 0;  // equal entries that were not written
  };

  explicit AuditLog(const std::string& path, Limits limits);
  void Print(const Entry& entry, std::uint64_t repeated);
  void Forget(std::chrono::steady_clock::time_point until);

  std::shared_ptr<spdlog::details::thread_pool> thread_;
  std::shared_ptr<spdlog::logger> file_;
  std::mutex mutex_;
  std::unordered_map<std::string, Repeated> recent_;
  std::deque<std::string> order_;  // keys of recent_, oldest first
};

}  // namespace pliant::server
