#include "server/store/checkpoint_file.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>
#include <xxhash.h>

#include "absl/strings/str_cat.h"

#include "server/files/files.h"

namespace pliant::server {
namespace {

constexpr std::string_view kCheckpointMagic = "PLIANTCP";
constexpr std::uint32_t kCheckpointVersion = 1;
constexpr std::size_t kMaxHead = 4096;

// magic, version, size of the head, size of the state
constexpr std::size_t kFixed =
    kCheckpointMagic.size() + 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kSum = sizeof(std::uint64_t);

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T Read(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

absl::Status Damaged(const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("checkpoint: ", why));
}

// Sizes of head and state, from the fixed part of a file.
absl::StatusOr<std::pair<std::size_t, std::uint64_t>> ReadSizes(std::string_view bytes) {
  if (bytes.size() < kFixed || !bytes.starts_with(kCheckpointMagic))
    return Damaged("not a checkpoint, or cut short");
  const auto version = Read<std::uint32_t>(bytes, kCheckpointMagic.size());
  if (version != kCheckpointVersion) {
    return Damaged(absl::StrCat("version ", version, "; this build reads version ",
                                kCheckpointVersion,
                                ". The file is kept; use the build that wrote it."));
  }
  const auto head = Read<std::uint32_t>(bytes, kCheckpointMagic.size() + sizeof version);
  if (head > kMaxHead) return Damaged("its head is damaged");
  return std::pair{std::size_t{head}, Read<std::uint64_t>(bytes, kFixed - sizeof(std::uint64_t))};
}

}  // namespace

std::string EncodeCheckpoint(const physics::Snapshot& snapshot, v1::CheckpointHead head) {
  const std::string state = physics::SerializeState(snapshot.state, snapshot.model->hash);
  head.set_step(snapshot.state.step);
  head.set_time(snapshot.state.time);
  head.set_state_hash(physics::HashState(snapshot.state));
  head.set_model_hash(snapshot.model->hash);
  const std::string head_bytes = head.SerializeAsString();

  std::string bytes(kCheckpointMagic);
  bytes.reserve(kFixed + head_bytes.size() + state.size() + kSum);
  Append(kCheckpointVersion, &bytes);
  Append(static_cast<std::uint32_t>(head_bytes.size()), &bytes);
  Append(static_cast<std::uint64_t>(state.size()), &bytes);
  bytes += head_bytes;
  bytes += state;
  Append(static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size())), &bytes);
  return bytes;
}

absl::StatusOr<CheckpointContents> DecodeCheckpoint(std::string_view bytes) {
  const auto sizes = ReadSizes(bytes);
  if (!sizes.ok()) return sizes.status();
  const auto [head, state] = *sizes;
  if (bytes.size() < kFixed + head + kSum || state != bytes.size() - kFixed - head - kSum)
    return Damaged("cut short, or longer than it says");
  const std::size_t end = bytes.size() - kSum;
  if (Read<std::uint64_t>(bytes, end) != XXH3_64bits(bytes.data(), end))
    return Damaged("the checksum does not match: the bytes are damaged");
  CheckpointContents contents;
  if (!contents.head.ParseFromArray(bytes.data() + kFixed, static_cast<int>(head)))
    return Damaged("its head is damaged");
  contents.state = bytes.substr(kFixed + head, state);
  return contents;
}

absl::StatusOr<CheckpointContents> ReadCheckpoint(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<CheckpointContents> contents = DecodeCheckpoint(*bytes);
  if (contents.ok()) return contents;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", contents.status().message()));
}

absl::StatusOr<std::pair<v1::CheckpointHead, std::int64_t>> ReadCheckpointHead(
    const std::string& path) {
  std::string bytes(kFixed + kMaxHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  const auto sizes = ReadSizes(bytes);
  v1::CheckpointHead head;
  if (!sizes.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", sizes.status().message()));
  if (kFixed + sizes->first > bytes.size() ||
      !head.ParseFromArray(bytes.data() + kFixed, static_cast<int>(sizes->first)))
    return absl::InvalidArgumentError(absl::StrCat(path, ": checkpoint: its head is damaged"));
  return std::pair{std::move(head), static_cast<std::int64_t>(sizes->second)};
}

}  // namespace pliant::server
