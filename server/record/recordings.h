#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/record.pb.h"
#include "server/host/timeline.h"
#include "server/host/world_host.h"
#include "server/record/world_recording.h"

namespace pliant::server {

// The recordings in a folder: files ID.mcap, some of which are being written. Functions that read
// or write files must not be called on a network thread.
class Recordings {
 public:
  static constexpr std::size_t kMaxRecordings = 256;
  static constexpr std::size_t kMaxActive = 16;

  Recordings(std::string folder, Timeline* timeline);
  ~Recordings();

  // Begins to record a world; `options` lacks the id if the server is to choose one, and the path.
  // INVALID_ARGUMENT for an id that is not [a-z0-9-]{1,63}, ALREADY_EXISTS, RESOURCE_EXHAUSTED when
  // there are too many, and errors of the disk.
  absl::StatusOr<std::shared_ptr<WorldRecording>> Start(WorldRecording::Options options);

  // A recording that is or was written since the server started; null if there is none.
  std::shared_ptr<WorldRecording> Find(const std::string& id) const;

  absl::StatusOr<v1::Recording> Describe(const std::string& id) const;  // NOT_FOUND
  std::vector<v1::Recording> List() const;                              // by id
  absl::Status Delete(const std::string& id);  // NOT_FOUND, or FAILED_PRECONDITION while active
  // Bytes of the file from `offset` on, and its size. NOT_FOUND.
  absl::StatusOr<v1::FetchRecordingResponse> Read(const std::string& id, std::int64_t offset,
                                                  std::int64_t max_bytes) const;
  std::string PathOf(const std::string& id) const { return folder_ + "/" + id + ".mcap"; }

  // Finishes all files. The worlds have ended.
  void Stop();

 private:
  SteadyTime Write();
  bool Exists(const std::string& id) const;
  std::vector<std::string> ListIds() const;

  const std::string folder_;
  Timeline* const timeline_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<WorldRecording>> known_;
  int last_number_ = 0;
  std::unique_ptr<Timeline::Worker> worker_;
};

}  // namespace pliant::server
