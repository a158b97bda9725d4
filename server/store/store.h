#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/storage.pb.h"
#include "server/host/timeline.h"
#include "server/store/data_folder.h"
#include "server/store/world_journal.h"

namespace pliant::server {

// The durable worlds of a server, in its data directory, and the threads that write them. All
// functions may be called from any thread; those that read or write files must not be called on a
// network thread.
class Store {
 public:
  struct Options {
    std::string folder;
    Timeline* timeline = &RealTimeline();
    SteadyTime::duration checkpoint_interval = std::chrono::seconds(60);
    int kept_checkpoints = WorldJournal::kKeptCheckpoints;  // automatic ones of each world
  };

  // UNAVAILABLE as DataFolder::Open. Removes worlds whose creation or deletion a crash interrupted:
  // of two worlds with the same id, the older one was being deleted.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const Options& options);
  ~Store();  // after all journals were closed

  const DataFolder& folder() const { return folder_; }

  // A durable world in the folder, as found at the start.
  struct Found {
    std::string id;
    WorldFolder folder;
    absl::StatusOr<v1::WorldRecord> record;
  };
  std::vector<Found> Find() const;

  // Makes the folder of a new world, which is at `start`.
  absl::StatusOr<std::shared_ptr<WorldJournal>> Create(
      const v1::WorldRecord& record, std::shared_ptr<const physics::Snapshot> start);

  // Continues a recovered world at `start`, after the checkpoints and logs up to `last_number`.
  absl::StatusOr<std::shared_ptr<WorldJournal>> Continue(
      const WorldFolder& folder, std::int64_t last_number,
      std::shared_ptr<const physics::Snapshot> start);

  // Stops the threads. Journals still write when they are closed.
  void Stop();

 private:
  Store(const Options& options, DataFolder folder);

  WorldJournal::Workers MakeWorkers();
  absl::StatusOr<std::shared_ptr<WorldJournal>> Open(
      WorldFolder folder, std::int64_t number, std::shared_ptr<const physics::Snapshot> start);
  std::vector<std::shared_ptr<WorldJournal>> List();
  SteadyTime Write();
  SteadyTime Sync();
  SteadyTime Checkpoint();

  const Options options_;
  const DataFolder folder_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<WorldJournal>> journals_;
  std::int64_t last_serial_ = 0;  // of the names of folders
  SteadyTime next_checkpoint_;
  std::unique_ptr<Timeline::Worker> writer_, syncer_, checkpoints_;
};

}  // namespace pliant::server
