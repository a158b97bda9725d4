#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/host/timeline.h"
#include "server/uploads/sha256.h"

namespace pliant::server {

// Files of one scene in a folder of their own, which the destructor removes.
class StagedFiles {
 public:
  explicit StagedFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  const std::filesystem::path folder_;
};

// Files that clients upload, each named by the SHA-256 of its content. A file with such a name is
// complete: it is checked, written to disk and then renamed. When the folder is full, the least
// recently used objects are dropped.
class ObjectStore {
 public:
  struct Options {
    std::string folder;
    std::int64_t max_bytes = std::int64_t{4} << 30;  // of all objects and uploads in progress
    Timeline* timeline = &RealTimeline();
  };
  static constexpr std::size_t kMaxChunk = 1 << 20;  // [B]
  static constexpr std::size_t kMaxUploads = 64;     // in progress
  static constexpr std::chrono::minutes kMaxPause{10};

  struct Progress {
    std::int64_t received = 0;  // [B]
    bool complete = false;
  };

  // Finds the objects of an earlier run; its unfinished uploads are dropped. UNAVAILABLE, with the
  // remedy, if the folder cannot be used.
  static absl::StatusOr<std::unique_ptr<ObjectStore>> Open(Options options);
  ~ObjectStore();

  // Changes Options::max_bytes. Objects that no longer fit are dropped; uploads in progress may
  // complete.
  void SetMaxBytes(std::int64_t max_bytes);

  bool Has(const std::string& sha256) const;

  // Adds a chunk to an object that `user` uploads. Uploads of the same object by different users
  // are separate. A chunk that was received before changes nothing. INVALID_ARGUMENT for an invalid
  // chunk, or if the whole has another hash, whereupon it is dropped; OUT_OF_RANGE, naming the next
  // offset, if chunks are missing before this one; RESOURCE_EXHAUSTED, naming the limit and the
  // need.
  absl::StatusOr<Progress> Append(const std::string& user, const std::string& sha256,
                                  std::int64_t size, std::int64_t offset, std::string_view data);

  // The content of an object. INVALID_ARGUMENT when it has more than `max_bytes`; NOT_FOUND.
  absl::StatusOr<std::string> Read(const std::string& sha256, std::int64_t max_bytes);

  // Makes `folder` with the named objects as files: `files` has relative paths and their hashes.
  // The files stay when their objects are dropped. INVALID_ARGUMENT for a path that does not stay
  // below the folder, NOT_FOUND naming what is not uploaded.
  absl::Status Link(const std::map<std::string, std::string>& files,
                    const std::filesystem::path& folder);

  // The same in a new folder below that of the store.
  absl::StatusOr<std::unique_ptr<StagedFiles>> Stage(
      const std::map<std::string, std::string>& files);

 private:
  struct Object {
    std::int64_t size = 0;
    SteadyTime last_use;
  };
  struct Upload {
    std::filesystem::path path;
    int file = -1;
    std::int64_t size = 0, received = 0;
    Sha256 sum;
    SteadyTime last_use;
  };
  using UploadKey = std::pair<std::string, std::string>;  // user and hash

  explicit ObjectStore(Options options);
  std::filesystem::path PathOf(const std::string& sha256) const;
  absl::StatusOr<Upload*> FindUpload(const UploadKey& key, std::int64_t size);
  absl::Status MakeRoom(std::int64_t size);
  void DropObjectsUntilHeld(std::int64_t max_held);
  absl::StatusOr<Progress> Complete(const UploadKey& key, Upload* upload);
  void Drop(const UploadKey& key);
  void DropPausedUploads();
  std::int64_t CountBytes() const;

  const Options options_;
  mutable std::mutex mutex_;
  std::int64_t max_bytes_;
  std::map<std::string, Object> objects_;  // by hash
  std::map<UploadKey, Upload> uploads_;
  std::uint64_t next_upload_ = 0, next_stage_ = 0;
};

}  // namespace pliant::server
