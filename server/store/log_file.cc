#include "server/store/log_file.h"

#include <cstring>
#include <xxhash.h>

#include "absl/strings/str_cat.h"

namespace pliant::server {
namespace {

constexpr std::string_view kLogMagic = "PLIANTLG";
constexpr std::uint32_t kLogVersion = 1;
constexpr std::size_t kLogHead = kLogMagic.size() + sizeof kLogVersion;

// Before each record. The checksum covers the length, too.
struct Frame {
  std::uint32_t size;
  std::uint32_t sum;
};

std::uint32_t CalcSum(std::string_view record) {
  const XXH64_hash_t hash = XXH3_64bits_withSeed(record.data(), record.size(), record.size());
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

std::string EncodeLogHead() {
  std::string bytes(kLogMagic);
  bytes.append(reinterpret_cast<const char*>(&kLogVersion), sizeof kLogVersion);
  return bytes;
}

void AppendLogRecord(const v1::LogRecord& record, std::string* bytes) {
  const std::size_t start = bytes->size();
  bytes->resize(start + sizeof(Frame));
  record.AppendToString(bytes);
  const std::string_view written = std::string_view(*bytes).substr(start + sizeof(Frame));
  const Frame frame{static_cast<std::uint32_t>(written.size()), CalcSum(written)};
  std::memcpy(bytes->data() + start, &frame, sizeof frame);
}

absl::StatusOr<LogEnd> ReadLog(std::string_view bytes,
                               const std::function<absl::Status(const v1::LogRecord&)>& take) {
  if (bytes.size() < kLogHead && EncodeLogHead().starts_with(bytes)) return LogEnd{0, ""};
  if (bytes.size() < kLogHead || !bytes.starts_with(kLogMagic))
    return absl::InvalidArgumentError("log: not a log");
  std::uint32_t version = 0;
  std::memcpy(&version, bytes.data() + kLogMagic.size(), sizeof version);
  if (version != kLogVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("log: version ", version, "; this build reads version ", kLogVersion,
                     ". The file is kept; use the build that wrote it."));
  }
  std::size_t at = kLogHead;
  const auto end = [&](const char* damage) {
    return LogEnd{static_cast<std::int64_t>(at), damage};
  };
  while (bytes.size() - at >= sizeof(Frame)) {
    Frame frame;
    std::memcpy(&frame, bytes.data() + at, sizeof frame);
    const std::string_view rest = bytes.substr(at + sizeof frame);
    if (frame.size > rest.size()) return end("");
    const std::string_view record = rest.substr(0, frame.size);
    v1::LogRecord message;
    if (CalcSum(record) != frame.sum ||
        !message.ParseFromArray(record.data(), static_cast<int>(record.size())))
      return end("the checksum of a record does not match");
    if (absl::Status status = take(message); !status.ok()) return status;
    at += sizeof frame + frame.size;
  }
  return end("");
}

}  // namespace pliant::server
