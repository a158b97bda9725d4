#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/files/growing_file.h"
#include "server/host/journal.h"
#include "server/host/timeline.h"
#include "server/store/world_folder.h"

namespace pliant::server {

// The checkpoints and the log of one durable world.
//
// The stepping thread only queues changes. A writer encodes and writes all changes queued since its
// last turn, and then notifies those who wait for it; a syncer follows. Checkpoints are written by
// a third thread, from a snapshot; the log continues in a new file from there on.
//
// After an error the world is paused, by a fault of its next step. A new checkpoint replaces the
// broken log as soon as one can be written.
class WorldJournal : public Journal {
 public:
  static constexpr std::size_t kMaxPending = 100'000;     // changes that are not written yet
  static constexpr std::int64_t kMaxLogBytes = 64 << 20;  // of one log, before a checkpoint
  static constexpr int kKeptCheckpoints = 2;              // by default

  struct Workers {
    Timeline* timeline;
    std::function<void()> wake_writer, wake_syncer, wake_checkpoints;
  };

  // Begins with a checkpoint of `start` and an empty log, both numbered `number`. Keeps the newest
  // `kept_checkpoints` automatic checkpoints, at least one, and the logs since then.
  static absl::StatusOr<std::shared_ptr<WorldJournal>> Open(
      Workers workers, WorldFolder folder, std::int64_t number,
      std::shared_ptr<const physics::Snapshot> start, int kept_checkpoints = kKeptCheckpoints);

  absl::Status OnStep(const physics::Inputs& inputs,
                      const std::shared_ptr<const physics::Snapshot>& after) override;
  void OnReset(const std::shared_ptr<const physics::Snapshot>& now) override;
  void OnRestore(const std::shared_ptr<const physics::Snapshot>& now) override;
  void WhenWritten(std::function<void(const absl::Status&)> done) override;
  void Close() override;
  void Discard() override;

  // Work of the three threads. `Sync` returns the time of its next call; `Checkpoint` does nothing
  // if nothing has changed, or if the log is shorter than `min_log_bytes`.
  void Write();
  SteadyTime Sync();
  void Checkpoint(std::int64_t min_log_bytes = 0);

  const std::string& folder() const override { return folder_.path(); }

 private:
  using Waiter = std::function<void(const absl::Status&)>;

  // A change that is not written yet: a record, or one with the bytes of a state, or (only
  // `number` is set) the place from which the log continues in another file.
  struct Change {
    v1::LogRecord record;
    std::shared_ptr<const physics::Snapshot> restored;
    std::int64_t number = 0;
  };

  WorldJournal(Workers workers, WorldFolder folder, std::int64_t number,
               std::shared_ptr<const physics::Snapshot> start, int kept_checkpoints);

  void Note(Change change, const std::shared_ptr<const physics::Snapshot>& now);
  absl::Status Begin(std::int64_t number, const physics::Snapshot& start);
  absl::Status StartLog(std::int64_t number);
  absl::Status WriteChanges(const std::vector<Change>& changes, const physics::Snapshot& now);
  // Waits for the writer to finish; it writes no more afterwards, and whoever waits is answered
  // `why`. Returns the files that have not been synchronised with the disk.
  std::vector<std::shared_ptr<GrowingFile>> End(const absl::Status& why);

  const Workers workers_;
  const WorldFolder folder_;
  const int kept_checkpoints_;

  std::mutex mutex_;
  std::vector<Change> pending_;
  std::vector<Waiter> waiters_;
  bool is_writing_ = false;
  bool has_changed_ = false;  // since the last checkpoint
  std::int64_t last_number_;
  std::shared_ptr<const physics::Snapshot> now_;  // after all pending changes
  absl::Status failure_;                          // of the log; ok: it is whole
  bool is_checkpointing_ = false;  // a checkpoint is being written; pending changes follow it
  bool ended_ = false;
  absl::Status end_;  // why the journal has ended; ok: all that happened is in it
  std::shared_ptr<GrowingFile> log_;
  std::vector<std::shared_ptr<GrowingFile>> unsynced_;
  SteadyTime unsynced_since_ = kNever;
  std::atomic<std::int64_t> log_bytes_{0};

  std::mutex write_mutex_;  // one thread writes at a time: the writer, or the one that closes
  SteadyTime last_mark_;
  std::mutex checkpoint_mutex_;
};

}  // namespace pliant::server
