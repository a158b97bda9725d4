#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/storage.pb.h"

namespace pliant::server {

// A log: magic and version, then records, each with its length and a checksum. If a server is
// killed, at most the last record is cut short.

std::string EncodeLogHead();
void AppendLogRecord(const v1::LogRecord& record, std::string* bytes);

// Result of reading a log.
struct LogEnd {
  std::int64_t bytes = 0;  // up to the end of the last good record
  std::string damage;      // why reading stopped; empty: the log is whole, or cut short
};

// Calls `take` with each record, up to the first that is cut short or damaged. INVALID_ARGUMENT
// when the head is damaged or of another version, and errors of `take`.
absl::StatusOr<LogEnd> ReadLog(std::string_view bytes,
                               const std::function<absl::Status(const v1::LogRecord&)>& take);

}  // namespace pliant::server
