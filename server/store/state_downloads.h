#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/host/timeline.h"

namespace pliant::server {

// Saved states that clients read in chunks. Each is held in memory under a handle until it has not
// been read for kMaxPause, whatever happens to its file or to its world.
class StateDownloads {
 public:
  static constexpr std::size_t kMaxPerUser = 4;
  static constexpr std::size_t kMaxOpen = 32;
  static constexpr std::int64_t kMaxHeld = std::int64_t{1} << 30;  // of all, if more than one [B]
  static constexpr std::chrono::seconds kMaxPause{60};

  struct Source {
    std::string world;                          // worlds/{world_id}
    std::map<std::string, std::string> labels;  // of the world
    std::string name;                           // of the checkpoint; empty: none
    std::string user;                           // reader
  };

  struct Chunk {
    std::string data;       // empty at the end
    std::int64_t size = 0;  // of the whole state [B]
  };

  explicit StateDownloads(Timeline* timeline);
  ~StateDownloads();

  // Holds a state and returns its handle. Drops states that were read to their ends to make room;
  // RESOURCE_EXHAUSTED, naming the limit, if there is none.
  absl::StatusOr<std::string> Open(Source source, std::string state);

  // The handle by which this user reads this checkpoint, the one opened last if there are several;
  // empty if there is none.
  std::string Find(const std::string& user, const std::string& name) const;

  // NOT_FOUND when the handle is unknown or has expired.
  absl::StatusOr<Source> Describe(const std::string& handle) const;
  absl::StatusOr<Chunk> Read(const std::string& handle, std::int64_t offset,
                             std::int64_t max_bytes);

  void Stop();

 private:
  struct Download {
    Source source;
    std::shared_ptr<const std::string> state;
    std::int64_t number = 0;  // in the order of opening
    SteadyTime last_use;
    bool is_finished = false;  // read to its end
  };

  SteadyTime DropExpired();
  absl::Status MakeRoom(const std::string& user, std::int64_t size);
  bool DropFinished(const std::string* user);
  std::size_t CountOf(const std::string& user) const;
  std::int64_t CountBytes() const;

  Timeline* const timeline_;
  mutable std::mutex mutex_;
  std::map<std::string, Download> downloads_;  // by handle
  std::int64_t last_number_ = 0;
  std::unique_ptr<Timeline::Worker> worker_;
};

}  // namespace pliant::server
