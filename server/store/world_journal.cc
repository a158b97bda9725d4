#include "server/store/world_journal.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "server/files/files.h"
#include "server/store/checkpoint_file.h"
#include "server/store/inputs_message.h"
#include "server/store/log_file.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kSyncDelay{50};
constexpr std::chrono::seconds kMarkInterval{1};

}  // namespace

WorldJournal::WorldJournal(Workers workers, WorldFolder folder, std::int64_t number,
                           std::shared_ptr<const physics::Snapshot> start, int kept_checkpoints)
    : workers_(std::move(workers)),
      folder_(std::move(folder)),
      kept_checkpoints_(kept_checkpoints),
      last_number_(number),
      now_(std::move(start)),
      last_mark_(workers_.timeline->Now()) {}

absl::StatusOr<std::shared_ptr<WorldJournal>> WorldJournal::Open(
    Workers workers, WorldFolder folder, std::int64_t number,
    std::shared_ptr<const physics::Snapshot> start, int kept_checkpoints) {
  std::shared_ptr<WorldJournal> journal(
      new WorldJournal(std::move(workers), std::move(folder), number, start, kept_checkpoints));
  if (absl::Status status = journal->Begin(number, *start); !status.ok()) return status;
  journal->folder_.Prune(kept_checkpoints);
  return journal;
}

absl::Status WorldJournal::Begin(std::int64_t number, const physics::Snapshot& start) {
  const std::string checkpoint = EncodeCheckpoint(start, folder_.NextHead(true));
  if (absl::Status status = WriteDurably(folder_.automatic(number), checkpoint); !status.ok())
    return status;
  return StartLog(number);
}

absl::Status WorldJournal::StartLog(std::int64_t number) {
  absl::StatusOr<GrowingFile> file = GrowingFile::Create(folder_.log(number));
  if (!file.ok()) return file.status();
  const auto log = std::make_shared<GrowingFile>(*std::move(file));
  if (absl::Status status = log->Append(EncodeLogHead()); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  log_ = log;
  log_bytes_.store(log->size());
  return absl::OkStatus();
}

absl::Status WorldJournal::OnStep(const physics::Inputs& inputs,
                                  const std::shared_ptr<const physics::Snapshot>& after) {
  Change change;
  if (!IsEmpty(inputs)) *change.record.mutable_step() = WriteInputs(inputs);
  absl::Status failure;
  {
    std::lock_guard lock(mutex_);
    failure = failure_;
    v1::LogRecord* last = pending_.empty() ? nullptr : &pending_.back().record;
    if (!change.record.has_step() && last != nullptr && last->has_steps()) {
      last->set_steps(last->steps() + 1);
      now_ = after;
      return failure;
    }
    if (!change.record.has_step()) change.record.set_steps(1);
  }
  Note(std::move(change), after);
  return failure;
}

void WorldJournal::OnReset(const std::shared_ptr<const physics::Snapshot>& now) {
  Change change;
  change.record.set_reset(true);
  Note(std::move(change), now);
}

void WorldJournal::OnRestore(const std::shared_ptr<const physics::Snapshot>& now) {
  Change change;
  change.restored = now;
  Note(std::move(change), now);
}

void WorldJournal::Note(Change change, const std::shared_ptr<const physics::Snapshot>& now) {
  {
    std::lock_guard lock(mutex_);
    now_ = now;
    has_changed_ = true;
    // the checkpoint that replaces the log includes this change, unless it is being written already
    if (!failure_.ok() && !is_checkpointing_) return;
    if (pending_.size() >= kMaxPending) {
      pending_.clear();
      is_checkpointing_ = false;
      failure_ = absl::ResourceExhaustedError(
          absl::StrCat("the log of this world in ", folder_.path(),
                       " cannot keep up with its steps; use a faster disk"));
      return;
    }
    pending_.push_back(std::move(change));
  }
  workers_.wake_writer();
}

void WorldJournal::WhenWritten(Waiter done) {
  absl::Status status;
  bool waits = false;
  {
    std::lock_guard lock(mutex_);
    if (ended_) {
      status = end_;
    } else {
      waits = !pending_.empty() || !waiters_.empty() || is_writing_ || !failure_.ok();
    }
    if (waits) waiters_.push_back(std::move(done));
  }
  if (!waits) return done(status);
  workers_.wake_writer();
}

void WorldJournal::Write() {
  std::lock_guard turn(write_mutex_);
  std::vector<Change> changes;
  std::vector<Waiter> waiters;
  std::shared_ptr<const physics::Snapshot> now;
  absl::Status status;
  std::int64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    if (ended_ || (pending_.empty() && waiters_.empty())) return;
    changes.swap(pending_);
    waiters.swap(waiters_);
    is_writing_ = true;
    now = now_;
    status = failure_;
    if (!status.ok()) {
      number = ++last_number_;
      is_checkpointing_ = true;
    }
  }
  const bool was_whole = status.ok();
  // a new checkpoint replaces a broken log
  status = was_whole ? WriteChanges(changes, *now) : Begin(number, *now);
  // earlier logs lack the changes that could not be written, so they must not be replayed
  if (!was_whole && status.ok()) folder_.Prune(1);
  if (was_whole && !status.ok()) {
    spdlog::error("event=log_failed folder=\"{}\" reason=\"{}\"", folder_.path(),
                  status.ToString());
  } else if (!was_whole && status.ok()) {
    spdlog::info("event=log_mended folder=\"{}\"", folder_.path());
  }
  {
    std::lock_guard lock(mutex_);
    is_writing_ = false;
    // changes during the checkpoint are pending, so that one checkpoint is enough
    if (std::exchange(is_checkpointing_, false) || !status.ok()) failure_ = status;
    if (!failure_.ok()) pending_.clear();
    if (status.ok() && (unsynced_.empty() || unsynced_.back() != log_)) {
      if (unsynced_.empty()) unsynced_since_ = workers_.timeline->Now();
      unsynced_.push_back(log_);
    }
  }
  workers_.wake_syncer();
  if (log_bytes_.load() > kMaxLogBytes) workers_.wake_checkpoints();
  for (const Waiter& done : waiters) done(status);
}

// `now` is the state after the last change.
absl::Status WorldJournal::WriteChanges(const std::vector<Change>& changes,
                                        const physics::Snapshot& now) {
  std::string bytes;
  const auto flush = [&] {
    const absl::Status status = log_->Append(bytes);
    log_bytes_.store(log_->size());
    bytes.clear();
    return status;
  };
  for (const Change& change : changes) {
    if (change.number > 0) {
      absl::Status status = flush();
      if (status.ok()) {
        std::lock_guard lock(mutex_);
        if (unsynced_.empty()) unsynced_since_ = workers_.timeline->Now();
        unsynced_.push_back(log_);
      }
      if (status.ok()) status = StartLog(change.number);
      if (!status.ok()) return status;
    } else if (change.restored != nullptr) {
      v1::LogRecord record;
      record.set_state(
          physics::SerializeState(change.restored->state, change.restored->model->hash));
      AppendLogRecord(record, &bytes);
    } else {
      AppendLogRecord(change.record, &bytes);
    }
  }
  // marks, by which replay is checked
  if (const SteadyTime time = workers_.timeline->Now();
      !changes.empty() && time - last_mark_ >= kMarkInterval) {
    last_mark_ = time;
    v1::LogRecord record;
    record.mutable_mark()->set_step(now.state.step);
    record.mutable_mark()->set_state_hash(physics::HashState(now.state));
    AppendLogRecord(record, &bytes);
  }
  return flush();
}

SteadyTime WorldJournal::Sync() {
  std::vector<std::shared_ptr<GrowingFile>> files;
  {
    std::lock_guard lock(mutex_);
    if (ended_ || unsynced_.empty()) return kNever;
    const SteadyTime due = unsynced_since_ + kSyncDelay;
    if (workers_.timeline->Now() < due) return due;
    files.swap(unsynced_);
    unsynced_since_ = kNever;
  }
  for (const auto& file : files) {
    const absl::Status status = file->Sync();
    if (status.ok()) continue;
    spdlog::error("event=log_failed folder=\"{}\" reason=\"{}\"", folder_.path(),
                  status.ToString());
    std::lock_guard lock(mutex_);
    failure_ = status;
  }
  return kNever;
}

void WorldJournal::Checkpoint(std::int64_t min_log_bytes) {
  std::lock_guard turn(checkpoint_mutex_);
  Change change;
  std::shared_ptr<const physics::Snapshot> now;
  {
    std::lock_guard lock(mutex_);
    if (ended_ || !has_changed_ || !failure_.ok() || log_bytes_.load() < min_log_bytes) return;
    has_changed_ = false;
    now = now_;
    change.number = ++last_number_;
    pending_.push_back(change);
  }
  workers_.wake_writer();
  const std::string bytes = EncodeCheckpoint(*now, folder_.NextHead(true));
  const absl::Status status = WriteDurably(folder_.automatic(change.number), bytes);
  if (status.ok()) return folder_.Prune(kept_checkpoints_);
  // the log is still whole, so that nothing is lost
  spdlog::error("event=checkpoint_failed folder=\"{}\" reason=\"{}\"", folder_.path(),
                status.ToString());
  std::lock_guard lock(mutex_);
  has_changed_ = true;
}

void WorldJournal::Close() {
  Checkpoint();
  WhenWritten([](const absl::Status&) {});  // a last attempt to mend the log, if need be
  Write();
  // a log that is still broken does not have the last changes
  absl::Status failure;
  {
    std::lock_guard lock(mutex_);
    failure = failure_;
  }
  for (const auto& file : End(failure)) {
    const absl::Status status = file->Sync();
    if (!status.ok())
      spdlog::error("event=log_failed folder=\"{}\" reason=\"{}\"", folder_.path(),
                    status.ToString());
  }
}

void WorldJournal::Discard() {
  End(absl::NotFoundError("the world was deleted"));
  std::lock_guard checkpoint_turn(checkpoint_mutex_);
  std::error_code error;
  const fs::path from = folder_.path();
  if (!fs::exists(from, error)) return;
  // renamed first, so that a crash leaves either all of the world or nothing
  const fs::path to = from.parent_path() / absl::StrCat(".deleted-", from.filename().string());
  fs::rename(from, to, error);
  if (error) {
    spdlog::error("event=world_not_removed folder=\"{}\" reason=\"{}\"", from.string(),
                  error.message());
    return;
  }
  const absl::Status synced = SyncFolder(from.parent_path().string());
  fs::remove_all(to, error);
  if (!synced.ok()) spdlog::error("event=world_not_removed reason=\"{}\"", synced.ToString());
}

std::vector<std::shared_ptr<GrowingFile>> WorldJournal::End(const absl::Status& why) {
  std::lock_guard turn(write_mutex_);
  std::vector<Waiter> waiters;
  std::vector<std::shared_ptr<GrowingFile>> files;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return {};
    end_ = why;
    waiters.swap(waiters_);
    files.swap(unsynced_);
    pending_.clear();
  }
  for (const Waiter& done : waiters) done(why);
  return files;
}

}  // namespace pliant::server
