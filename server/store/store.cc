#include "server/store/store.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "server/files/files.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

// The name of a world's folder is its id, a dot and a serial number, so that a world may be created
// while an earlier one of the same id is being removed.
std::int64_t SerialOf(const std::string& name) {
  std::int64_t serial = 0;
  const std::size_t dot = name.rfind('.');
  return dot != std::string::npos && absl::SimpleAtoi(name.substr(dot + 1), &serial) ? serial : 0;
}

std::string IdOf(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

std::vector<fs::path> ListFolders(const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const Options& options) {
  absl::StatusOr<DataFolder> folder = DataFolder::Open(options.folder);
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<Store>(new Store(options, *std::move(folder)));
}

Store::Store(const Options& options, DataFolder folder)
    : options_(options),
      folder_(std::move(folder)),
      next_checkpoint_(options.timeline->Now() + options.checkpoint_interval) {
  std::map<std::string, std::int64_t> newest;
  std::error_code ignored;
  for (const fs::path& path : ListFolders(folder_.worlds())) {
    const std::string name = path.filename().string();
    const std::int64_t serial = SerialOf(name);
    last_serial_ = std::max(last_serial_, serial);
    if (name.starts_with(".") || !fs::exists(path / "world", ignored)) {
      fs::remove_all(path, ignored);
    } else {
      std::int64_t& last = newest[IdOf(name)];
      last = std::max(last, serial);
    }
  }
  for (const fs::path& path : ListFolders(folder_.worlds())) {
    const std::string name = path.filename().string();
    if (SerialOf(name) < newest[IdOf(name)]) fs::remove_all(path, ignored);
  }
  writer_ = options_.timeline->Start([this] { return Write(); }, {"store write"});
  syncer_ = options_.timeline->Start([this] { return Sync(); }, {"store sync"});
  checkpoints_ = options_.timeline->Start([this] { return Checkpoint(); }, {"checkpoints"});
}

Store::~Store() {
  Stop();
}

void Store::Stop() {
  for (const auto& worker : {&checkpoints_, &writer_, &syncer_}) (*worker)->Stop();
}

std::vector<Store::Found> Store::Find() const {
  std::vector<Found> found;
  for (const fs::path& path : ListFolders(folder_.worlds())) {
    WorldFolder folder(path.string());
    absl::StatusOr<v1::WorldRecord> record = folder.ReadRecord();
    found.push_back({IdOf(path.filename().string()), std::move(folder), std::move(record)});
  }
  return found;
}

absl::StatusOr<std::shared_ptr<WorldJournal>> Store::Create(
    const v1::WorldRecord& record, std::shared_ptr<const physics::Snapshot> start) {
  std::int64_t serial = 0;
  {
    std::lock_guard lock(mutex_);
    serial = ++last_serial_;
  }
  const WorldFolder folder(
      absl::StrCat(folder_.worlds(), "/", record.request().world_id(), ".", serial));
  const auto give_up = [&](absl::Status status) {
    std::error_code ignored;
    fs::remove_all(folder.path(), ignored);
    return status;
  };
  absl::Status status = MakeFolder(folder.path() + "/named");
  if (!status.ok()) return give_up(status);
  auto journal = Open(folder, 1, std::move(start));
  if (!journal.ok()) return give_up(journal.status());
  // written last, because a folder without it is incomplete
  status = WriteDurably(folder.record(), record.SerializeAsString());
  status.Update(SyncFolder(folder_.worlds()));
  if (!status.ok()) {
    (*journal)->Discard();
    return give_up(status);
  }
  return journal;
}

absl::StatusOr<std::shared_ptr<WorldJournal>> Store::Continue(
    const WorldFolder& folder, std::int64_t last_number,
    std::shared_ptr<const physics::Snapshot> start) {
  return Open(folder, last_number + 1, std::move(start));
}

absl::StatusOr<std::shared_ptr<WorldJournal>> Store::Open(
    WorldFolder folder, std::int64_t number, std::shared_ptr<const physics::Snapshot> start) {
  auto journal = WorldJournal::Open(MakeWorkers(), std::move(folder), number, std::move(start),
                                    options_.kept_checkpoints);
  if (!journal.ok()) return journal;
  std::lock_guard lock(mutex_);
  std::erase_if(journals_, [](const auto& weak) { return weak.expired(); });
  journals_.push_back(*journal);
  return journal;
}

WorldJournal::Workers Store::MakeWorkers() {
  return {options_.timeline, [this] { writer_->Wake(); }, [this] { syncer_->Wake(); },
          [this] { checkpoints_->Wake(); }};
}

std::vector<std::shared_ptr<WorldJournal>> Store::List() {
  std::vector<std::shared_ptr<WorldJournal>> journals;
  std::lock_guard lock(mutex_);
  for (const auto& weak : journals_) {
    if (auto journal = weak.lock()) journals.push_back(std::move(journal));
  }
  return journals;
}

SteadyTime Store::Write() {
  for (const auto& journal : List()) journal->Write();
  return kNever;
}

SteadyTime Store::Sync() {
  SteadyTime next = kNever;
  for (const auto& journal : List()) next = std::min(next, journal->Sync());
  return next;
}

SteadyTime Store::Checkpoint() {
  const bool is_due = options_.timeline->Now() >= next_checkpoint_;
  for (const auto& journal : List()) journal->Checkpoint(is_due ? 0 : WorldJournal::kMaxLogBytes);
  if (is_due) next_checkpoint_ = options_.timeline->Now() + options_.checkpoint_interval;
  return next_checkpoint_;
}

}  // namespace pliant::server
