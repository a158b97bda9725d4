#include "server/store/checkpoints.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <sys/stat.h>

#include "server/files/files.h"
#include "server/host/text.h"
#include "server/store/checkpoint_file.h"

namespace pliant::server {
namespace {

constexpr char kAutomatic[] = "auto-";

bool IsId(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !id.empty() && id.size() <= 63 && std::ranges::all_of(id, allowed);
}

absl::Status CheckNewId(const std::string& id) {
  if (IsId(id) && !id.starts_with(kAutomatic)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("checkpoint_id: \"", Shorten(id, 80),
                   "\" is not allowed; expected 1 to 63 of the characters a-z, 0-9 and -, and not ",
                   kAutomatic, " at the beginning"));
}

// The file of a checkpoint; empty if `id` is not valid.
std::string PathOf(const WorldFolder& folder, const std::string& id) {
  if (!IsId(id)) return "";
  if (!id.starts_with(kAutomatic)) return folder.named(id);
  std::int64_t number = 0;
  return absl::SimpleAtoi(id.substr(std::strlen(kAutomatic)), &number) ? folder.automatic(number)
                                                                       : "";
}

bool Exists(const std::string& path) {
  struct stat info;
  return !path.empty() && stat(path.c_str(), &info) == 0;
}

absl::Status NotThere(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("there is no checkpoint \"", Shorten(id, 80), "\""));
}

// A checkpoint with its place among those of its world.
struct Listed {
  std::int64_t sequence = 0;
  v1::Checkpoint checkpoint;
};

Listed Describe(const WorldFolder& folder, const std::string& world, const std::string& id) {
  Listed listed;
  v1::Checkpoint& checkpoint = listed.checkpoint;
  checkpoint.set_name(absl::StrCat(world, "/checkpoints/", id));
  checkpoint.set_automatic(id.starts_with(kAutomatic));
  const std::string path = PathOf(folder, id);
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    checkpoint.mutable_create_time()->set_seconds(info.st_mtim.tv_sec);
    checkpoint.mutable_create_time()->set_nanos(static_cast<std::int32_t>(info.st_mtim.tv_nsec));
  }
  const auto head = ReadCheckpointHead(path);
  if (!head.ok()) return listed;
  listed.sequence = head->first.sequence();
  checkpoint.set_step(head->first.step());
  checkpoint.set_time(head->first.time());
  checkpoint.set_state_hash(head->first.state_hash());
  checkpoint.set_model_hash(head->first.model_hash());
  checkpoint.set_size(head->second);
  return listed;
}

}  // namespace

absl::StatusOr<v1::Checkpoint> SaveCheckpoint(const WorldFolder& folder, const std::string& world,
                                              const std::string& id,
                                              const physics::Snapshot& snapshot) {
  if (absl::Status status = CheckNewId(id); !status.ok()) return status;
  const std::string path = PathOf(folder, id);
  if (Exists(path)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "checkpoint_id: ", world, " already has a checkpoint \"", id, "\"; choose another"));
  }
  if (folder.ListNamed().size() >= kMaxNamedCheckpoints) {
    return absl::ResourceExhaustedError(
        absl::StrCat(world, " has ", kMaxNamedCheckpoints,
                     " checkpoints with a name, which is the limit; delete one first"));
  }
  const absl::Status status =
      WriteDurably(path, EncodeCheckpoint(snapshot, folder.NextHead(false)));
  if (!status.ok()) return status;
  return Describe(folder, world, id).checkpoint;
}

std::vector<v1::Checkpoint> ListCheckpoints(const WorldFolder& folder, const std::string& world) {
  std::vector<Listed> found;
  for (const std::int64_t number : folder.ListAutomatic())
    found.push_back(Describe(folder, world, absl::StrCat(kAutomatic, number)));
  for (const std::string& id : folder.ListNamed()) found.push_back(Describe(folder, world, id));
  // checkpoints taken at the same time may have the same sequence
  std::ranges::stable_sort(found, {}, [](const Listed& listed) {
    return std::pair(listed.sequence, listed.checkpoint.step());
  });
  std::vector<v1::Checkpoint> checkpoints;
  for (Listed& listed : found) checkpoints.push_back(std::move(listed.checkpoint));
  return checkpoints;
}

absl::StatusOr<std::string> ReadCheckpointState(const WorldFolder& folder, const std::string& id) {
  const std::string path = PathOf(folder, id);
  if (!Exists(path)) return NotThere(id);
  absl::StatusOr<CheckpointContents> contents = ReadCheckpoint(path);
  if (!contents.ok()) return contents.status();
  return std::move(contents->state);
}

absl::Status DeleteCheckpoint(const WorldFolder& folder, const std::string& id) {
  const std::string path = PathOf(folder, id);
  if (!Exists(path)) return NotThere(id);
  if (id.starts_with(kAutomatic)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the server needs the checkpoint \"", id, "\" and deletes it when there are newer ones"));
  }
  if (std::remove(path.c_str()) != 0) return FileError("remove", path, errno);
  return SyncFolder(folder.path() + "/named");
}

}  // namespace pliant::server
