#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// A message of an MCAP file. Valid during the call to which it is passed.
struct McapMessage {
  std::string_view topic;
  std::uint64_t log_time = 0;  // [ns]
  std::string_view data;
};

// A file that is attached to an MCAP file. Valid during the call to which it is passed.
struct McapAttachment {
  std::string_view name;
  std::string_view contents;
};

// Result of reading a file.
struct McapEnd {
  bool is_complete = false;  // the file has an end; otherwise it was cut off
  std::string damage;        // why reading stopped; empty: nothing is damaged
};

// Calls `take` with each message and `attach`, unless it is null, with each attachment, in the
// order of the file, up to the place where it was cut off or is damaged. Chunks may be compressed
// (zstd). INVALID_ARGUMENT when it is not an MCAP file, NOT_FOUND when there is none, and errors of
// `take`.
absl::StatusOr<McapEnd> ReadMcap(const std::string& path,
                                 const std::function<absl::Status(const McapMessage&)>& take,
                                 const std::function<void(const McapAttachment&)>& attach = {});

// The metadata that McapWriter::Create was given, and whether the file has an end.
struct McapSummary {
  std::map<std::string, std::string> metadata;
  bool is_complete = false;
};
absl::StatusOr<McapSummary> ReadMcapSummary(const std::string& path);

}  // namespace pliant::server
