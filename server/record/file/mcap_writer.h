#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

#include "server/files/growing_file.h"

namespace pliant::server {

// Writes an MCAP file (https://mcap.dev/spec): an open container of time-stamped messages. Messages
// are gathered in chunks, each compressed (zstd), with a checksum and an index, and only whole
// chunks are written. A file without an end is readable up to its last chunk. Errors as in files.h.
class McapWriter {
 public:
  static constexpr std::size_t kChunkBytes = 1 << 20;

  // Makes a file that does not exist yet. `metadata` is readable before any chunk.
  static absl::StatusOr<McapWriter> Create(const std::string& path,
                                           const std::map<std::string, std::string>& metadata);

  // Adds a file that belongs to the recording, before the first message.
  absl::Status Attach(const std::string& name, std::string_view contents);

  // Adds a channel of protobuf messages, before the first message, and returns its number.
  std::uint16_t AddChannel(const std::string& topic, const google::protobuf::Descriptor& message);

  // `log_time` rises from message to message; both times in nanoseconds.
  absl::Status Write(std::uint16_t channel, std::uint64_t log_time, std::uint64_t publish_time,
                     std::string_view message);

  // Writes the open chunk, if any, to the disk.
  absl::Status Flush();

  // Flushes, and writes the summary by which readers find chunks without reading all of them.
  absl::Status Finish();

  std::int64_t size() const { return file_.size(); }  // [bytes]

 private:
  struct Channel {
    std::string records;  // its Schema and its Channel record
    std::uint32_t written = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> index;  // of the open chunk: time, offset
  };
  struct Times {
    std::uint64_t first = 0, last = 0;
  };

  explicit McapWriter(GrowingFile file) : file_(std::move(file)) {}

  GrowingFile file_;
  std::vector<Channel> channels_;
  std::string chunk_;  // records of the open chunk
  Times chunk_times_, times_;
  std::uint64_t messages_ = 0;
  std::vector<std::string> chunk_indexes_, attachment_indexes_;
};

}  // namespace pliant::server
