#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/storage.pb.h"

namespace pliant::server {

// The folder of a durable world:
//
//   world                 its WorldRecord
//   auto-N.checkpoint     automatic checkpoints, N = 1, 2, …
//   log-N                 changes after checkpoint N, up to that of the next log
//   named/ID.checkpoint   checkpoints requested by clients
//   files/                files that its scene names
class WorldFolder {
 public:
  explicit WorldFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string record() const { return path_ + "/world"; }
  std::string automatic(std::int64_t number) const;
  std::string log(std::int64_t number) const;
  std::string named(const std::string& id) const { return path_ + "/named/" + id + ".checkpoint"; }

  // Ascending numbers of the automatic checkpoints and of the logs, ids of the named checkpoints.
  std::vector<std::int64_t> ListAutomatic() const;
  std::vector<std::int64_t> ListLogs() const;
  std::vector<std::string> ListNamed() const;

  // The head of the checkpoint that is taken next. Its sequence is after that of each checkpoint
  // that can be read.
  v1::CheckpointHead NextHead(bool is_automatic) const;

  absl::StatusOr<v1::WorldRecord> ReadRecord() const;

  // Keeps the newest `count` automatic checkpoints and the logs since the oldest of these.
  void Prune(int count) const;

 private:
  std::vector<std::int64_t> ListNumbers(const std::string& prefix, const std::string& suffix) const;

  std::string path_;
};

}  // namespace pliant::server
