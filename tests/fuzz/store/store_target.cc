// Reads the files of the data directory: checkpoints, logs, and the inputs in them. The first byte
// of an input chooses the format. Checksums are made to match, since no mutation would find them.
//
// With libFuzzer: build/libfuzzer/bin/store_fuzz tests/fuzz/store/corpus. Otherwise
// tests/fuzz/mutations.cc calls it.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <xxhash.h>

#include "absl/strings/str_format.h"
#include "google/protobuf/stubs/logging.h"

#include "physics/dynamics/state.h"
#include "server/store/checkpoint_file.h"
#include "server/store/inputs_message.h"
#include "server/store/log_file.h"

namespace pliant::fuzz {
namespace {

constexpr std::string_view kModel = "0123456789abcdef0123456789abcdef";

void Demand(bool condition) {
  if (!condition) std::abort();
}

// Reads a state with this payload and a matching header.
void ReadState(std::string_view payload) {
  physics::State empty;
  std::string bytes = physics::SerializeState(empty, kModel);
  const std::size_t head = 8 + 4 + 32;  // magic, version, model
  bytes.resize(head);
  const XXH128_hash_t sum = XXH3_128bits(payload.data(), payload.size());
  bytes += absl::StrFormat("%016x%016x", sum.high64, sum.low64);
  bytes += payload;
  const absl::StatusOr<physics::State> state = physics::ParseState(bytes, kModel);
  if (!state.ok()) return Demand(!state.status().message().empty());
  // an accepted state can be written and read again
  const std::string again = physics::SerializeState(*state, kModel);
  Demand(physics::ParseState(again, kModel).ok());
}

// Reads a checkpoint, with the right checksum appended.
void ReadCheckpoint(std::string_view bytes) {
  std::string whole(bytes);
  const XXH64_hash_t sum = XXH3_64bits(whole.data(), whole.size());
  whole.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  const auto contents = server::DecodeCheckpoint(whole);
  if (!contents.ok()) return Demand(!contents.status().message().empty());
  physics::ParseState(contents->state, contents->head.model_hash()).IgnoreError();
}

void ReadLogOf(std::string_view bytes) {
  std::int64_t records = 0;
  const auto end = server::ReadLog(bytes, [&](const v1::LogRecord& record) {
    ++records;
    if (record.has_step()) server::ReadInputs(record.step()).IgnoreError();
    return absl::OkStatus();
  });
  if (!end.ok()) return Demand(!end.status().message().empty());
  Demand(end->bytes <= static_cast<std::int64_t>(bytes.size()));
}

// Reads a log that consists of this record, with the right framing.
void ReadRecord(std::string_view bytes) {
  v1::LogRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  std::string log = server::EncodeLogHead();
  server::AppendLogRecord(record, &log);
  ReadLogOf(log);
  if (!record.has_step()) return;
  const auto inputs = server::ReadInputs(record.step());
  if (inputs.ok()) Demand(server::ReadInputs(server::WriteInputs(*inputs)).ok());
}

}  // namespace
}  // namespace pliant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // protobuf would log each refused text that is not UTF-8
  static const bool silent = (google::protobuf::SetLogHandler(nullptr), true);
  static_cast<void>(silent);
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      pliant::fuzz::ReadState(bytes);
      break;
    case 1:
      pliant::fuzz::ReadCheckpoint(bytes);
      break;
    case 2:
      pliant::fuzz::ReadLogOf(bytes);
      break;
    default:
      pliant::fuzz::ReadRecord(bytes);
      break;
  }
  return 0;
}
