#include "server/store/recovery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/files/files.h"
#include "server/store/checkpoint_file.h"
#include "server/store/inputs_message.h"
#include "server/store/log_file.h"

namespace pliant::server {
namespace {

absl::Status Lost(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": ", why));
}

// Restores the newest checkpoint that can be read, and returns its number.
absl::StatusOr<std::int64_t> RestoreNewest(const WorldFolder& folder, RecoveredWorld* recovered) {
  std::vector<std::int64_t> numbers = folder.ListAutomatic();
  std::ranges::reverse(numbers);
  for (const std::int64_t number : numbers) {
    const std::string path = folder.automatic(number);
    const absl::StatusOr<CheckpointContents> contents = ReadCheckpoint(path);
    absl::Status status = contents.status();
    if (status.ok()) status = recovered->world.Restore(contents->state);
    if (status.ok()) return number;
    recovered->warnings.push_back(absl::StrCat(path, ": ", status.message()));
  }
  std::string text = absl::StrCat("no checkpoint in ", folder.path(), " can be read");
  for (const std::string& warning : recovered->warnings) absl::StrAppend(&text, "; ", warning);
  return absl::InvalidArgumentError(text);
}

// Repeats a log; `is_last` if no other follows it.
absl::Status RepeatLog(const std::string& path, bool is_last, RecoveredWorld* recovered) {
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok()) return bytes.status();
  const std::int64_t first = recovered->world.state().step;
  const absl::StatusOr<LogEnd> end = ReadLog(*bytes, [&](const v1::LogRecord& record) {
    const absl::Status status = Repeat(record, &recovered->world);
    return status.ok() ? status : Lost(path, status.message());
  });
  if (absl::IsDataLoss(end.status())) return end.status();
  if (!end.ok())
    return absl::Status(end.status().code(), absl::StrCat(path, ": ", end.status().message()));
  recovered->replayed += recovered->world.state().step - first;
  const auto size = static_cast<std::int64_t>(bytes->size());
  if (end->bytes == size) return absl::OkStatus();
  const std::string what =
      end->damage.empty() ? "the last record is cut short" : end->damage + ": the log is damaged";
  if (!is_last) return Lost(path, absl::StrCat(what, " at byte ", end->bytes));
  recovered->warnings.push_back(absl::StrCat(path, ": ", what, " at byte ", end->bytes, "; ",
                                             size - end->bytes, " bytes are left out"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecoveredWorld> RecoverWorld(const WorldFolder& folder,
                                            std::shared_ptr<const physics::Model> model) {
  RecoveredWorld recovered{physics::World(std::move(model)), 0, 0, {}};
  const absl::StatusOr<std::int64_t> newest = RestoreNewest(folder, &recovered);
  if (!newest.ok()) return newest.status();
  recovered.last_number = *newest;
  for (const std::int64_t number : folder.ListAutomatic())
    recovered.last_number = std::max(recovered.last_number, number);

  // a server that was killed just after the checkpoint may have left no log
  std::vector<std::int64_t> logs = folder.ListLogs();
  std::erase_if(logs, [&](std::int64_t number) { return number < *newest; });
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i] != *newest + static_cast<std::int64_t>(i))
      return Lost(folder.log(*newest + static_cast<std::int64_t>(i)), "the log is missing");
    const absl::Status status = RepeatLog(folder.log(logs[i]), i + 1 == logs.size(), &recovered);
    if (!status.ok()) return status;
    recovered.last_number = std::max(recovered.last_number, logs[i]);
  }
  return recovered;
}

absl::Status Repeat(const v1::LogRecord& record, physics::World* world) {
  switch (record.change_case()) {
    case v1::LogRecord::kSteps:
      for (std::int64_t i = 0; i < record.steps(); ++i) {
        if (absl::Status status = world->Step(); !status.ok()) return status;
      }
      return absl::OkStatus();
    case v1::LogRecord::kStep: {
      const absl::StatusOr<physics::Inputs> inputs = ReadInputs(record.step());
      if (!inputs.ok()) return inputs.status();
      return world->Step(*inputs);
    }
    case v1::LogRecord::kReset:
      world->Reset();
      return absl::OkStatus();
    case v1::LogRecord::kState:
      return world->Restore(record.state());
    case v1::LogRecord::kMark: {
      const std::string hash = physics::HashState(world->state());
      if (world->state().step == record.mark().step() && hash == record.mark().state_hash())
        return absl::OkStatus();
      return absl::DataLossError(
          absl::StrCat("the same steps led to another state: ", hash, " at step ",
                       world->state().step, ", not ", record.mark().state_hash(), " at step ",
                       record.mark().step(), ". Use the build that wrote it."));
    }
    case v1::LogRecord::CHANGE_NOT_SET:
      break;
  }
  return absl::DataLossError("a record of a kind that this build does not know");
}

}  // namespace pliant::server
