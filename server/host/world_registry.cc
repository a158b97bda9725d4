#include "server/host/world_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "server/host/text.h"

namespace pliant::server {

absl::Status CheckWorldId(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!id.empty() && id.size() <= 63 && std::all_of(id.begin(), id.end(), allowed))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("world_id: \"", Shorten(id, 80),
                   "\" is not allowed; expected 1 to 63 of the characters a-z, 0-9 and -"));
}

WorldRegistry::Reservation::Reservation(WorldRegistry* registry, std::string id,
                                        std::shared_ptr<Creation> creation)
    : registry_(registry), id_(std::move(id)), creation_(std::move(creation)) {}

WorldRegistry::Reservation::Reservation(Reservation&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)),
      id_(std::move(other.id_)),
      creation_(std::move(other.creation_)) {}

WorldRegistry::Reservation::~Reservation() {
  if (registry_ != nullptr) registry_->Free(id_, creation_.get());
}

WorldRegistry::WorldRegistry(Options options)
    : options_(std::move(options)),
      quotas_(options_.quotas),
      worker_(options_.timeline->Start([this] { return Tend(); }, {"worlds"})) {}

WorldRegistry::~WorldRegistry() {
  Close(absl::UnavailableError("the server has shut down"));
  JoinAll();
}

absl::StatusOr<WorldRegistry::Reservation> WorldRegistry::Reserve(std::string id,
                                                                  const WorldSettings& settings) {
  if (!id.empty()) {
    if (absl::Status status = CheckWorldId(id); !status.ok()) return status;
  }
  std::lock_guard lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (absl::Status status = CheckQuotas({.worlds = 1}, settings.owner); !status.ok()) return status;
  const std::int64_t most = std::max<std::int64_t>(1, quotas_.server.worlds / 2);
  if (quotas_.server.worlds > 0 && static_cast<std::int64_t>(creations_.size()) >= most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(creations_.size(),
                     " worlds are being built, which is the limit; try again when one is ready"));
  }
  const auto is_taken = [&] { return worlds_.contains(id) || creations_.contains(id); };
  if (id.empty()) {
    do {
      id = absl::StrCat("world-", next_number_++);
    } while (is_taken());
  }
  if (is_taken()) {
    return absl::AlreadyExistsError(
        absl::StrCat("worlds/", id, " already exists; choose another world_id"));
  }
  auto creation = std::make_shared<Creation>(settings, options_.timeline->Now());
  creations_.emplace(id, creation);
  return Reservation(this, std::move(id), std::move(creation));
}

absl::StatusOr<std::shared_ptr<WorldHost>> WorldRegistry::Open(Reservation reservation,
                                                               physics::World world,
                                                               const ClockMode& clock,
                                                               WorldSettings settings,
                                                               std::shared_ptr<Journal> journal) {
  const std::string id = reservation.id(), owner = settings.owner;
  Usage needed = CalcUsage(world.model());
  auto controller = options_.make_controller(world.shared_model());
  auto host =
      std::make_shared<WorldHost>(id, std::move(world), std::move(controller), options_.timeline,
                                  clock, std::move(settings), std::move(journal));
  {
    std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    if (const std::string who = reservation.creation().cancelled_by(); !who.empty())
      return absl::AbortedError(absl::StrCat("the creation of worlds/", id, " was ended by ", who));
    needed.worlds = 0;  // the world has been counted since its reservation
    if (absl::Status status = CheckQuotas(needed, owner); !status.ok()) return status;
    worlds_[id] = host;
    creations_.erase(id);
    reservation.registry_ = nullptr;
  }
  spdlog::info("event=world_created world={} scene=\"{}\" model={}", host->id(), host->model().name,
               host->model().hash);
  worker_->Wake();
  return host;
}

// Call with mutex_ locked.
absl::Status WorldRegistry::CheckQuotas(const Usage& needed, const std::string& owner) const {
  Usage all, own;
  const auto count = [&](const Usage& usage, const std::string& whose) {
    all += usage;
    if (whose == owner) own += usage;
  };
  for (const auto& [id, host] : worlds_) count(host->usage(), host->settings()->owner);
  for (const Ending& ending : ending_) count(ending.host->usage(), ending.host->settings()->owner);
  for (const auto& [id, creation] : creations_) count({.worlds = 1}, creation->settings().owner);
  if (absl::Status status = CheckQuota(quotas_.world, {}, needed, "a world"); !status.ok())
    return status;
  if (absl::Status status = CheckQuota(quotas_.server, all, needed, "the server"); !status.ok())
    return status;
  return owner.empty() ? absl::OkStatus() : CheckQuota(quotas_.user, own, needed, owner);
}

void WorldRegistry::SetQuotas(const Quotas& quotas) {
  std::lock_guard lock(mutex_);
  quotas_ = quotas;
}

std::shared_ptr<const physics::Model> WorldRegistry::Share(
    std::shared_ptr<const physics::Model> model) const {
  std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(worlds_, [&](const auto& entry) {
    return entry.second->model().content_hash == model->content_hash;
  });
  return same == worlds_.end() ? model : same->second->shared_model();
}

std::shared_ptr<Creation> WorldRegistry::FindCreation(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = creations_.find(id);
  return found == creations_.end() ? nullptr : found->second;
}

absl::Status WorldRegistry::CancelCreation(const std::string& id, const std::string& who) {
  std::lock_guard lock(mutex_);
  const auto found = creations_.find(id);
  if (found == creations_.end())
    return absl::NotFoundError(absl::StrCat("there is no world worlds/", Shorten(id, 80)));
  found->second->Cancel(who);
  creations_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<WorldHost>> WorldRegistry::Get(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = worlds_.find(id);
  if (found == worlds_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no world worlds/", Shorten(id, 80)));
  }
  return found->second;
}

std::vector<std::shared_ptr<WorldHost>> WorldRegistry::List() const {
  std::vector<std::shared_ptr<WorldHost>> hosts;
  std::lock_guard lock(mutex_);
  for (const auto& [id, host] : worlds_) hosts.push_back(host);
  return hosts;
}

std::vector<WorldRegistry::Entry> WorldRegistry::ListWithCreations() const {
  std::vector<Entry> entries;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, host] : worlds_) entries.push_back({id, host, nullptr});
    for (const auto& [id, creation] : creations_) entries.push_back({id, nullptr, creation});
  }
  std::ranges::sort(entries, {}, &Entry::id);
  return entries;
}

absl::Status WorldRegistry::Remove(const std::string& id, const std::string& who,
                                   std::function<void()> done) {
  const absl::StatusOr<std::shared_ptr<WorldHost>> host = Get(id);
  if (!host.ok()) return host.status();
  {
    // of two concurrent requests, only one removes the world
    std::lock_guard lock(mutex_);
    const auto found = worlds_.find(id);
    if (found == worlds_.end() || found->second != *host)
      return absl::NotFoundError(absl::StrCat("there is no world worlds/", id));
    ending_.push_back({std::move(found->second), std::move(done)});
    worlds_.erase(found);
  }
  (*host)->RequestStop(absl::NotFoundError(absl::StrCat("worlds/", id, " was deleted by ", who)));
  spdlog::info("event=world_deleted world={} client=\"{}\"", id, who);
  worker_->Wake();
  return absl::OkStatus();
}

SteadyTime WorldRegistry::Tend() {
  if (EndNext()) return options_.timeline->Now();
  return RemoveIdle();
}

// Removes worlds that were idle for too long. Returns the earliest time at which another may be.
SteadyTime WorldRegistry::RemoveIdle() {
  const SteadyTime now = options_.timeline->Now();
  SteadyTime next = kNever;
  for (const auto& host : List()) {
    const SteadyTime::duration timeout = host->settings()->idle_timeout;
    if (timeout == SteadyTime::duration::max()) continue;
    const SteadyTime end = host->last_use() + timeout;
    if (now < end) {
      next = std::min(next, end);
      continue;
    }
    const auto seconds = std::chrono::duration<double>(timeout).count();
    const absl::Status removed =
        Remove(host->id(), absl::StrCat("its idle timeout of ", seconds, " s"), [] {});
    if (removed.ok()) next = now;
  }
  return next;
}

// Joins one world that ends, if any. It waits for a step of that world, which no network thread
// may do.
bool WorldRegistry::EndNext() {
  std::shared_ptr<WorldHost> host;
  {
    std::lock_guard lock(mutex_);
    if (ending_.empty()) return false;
    host = ending_.front().host;
  }
  host->Join();
  host.reset();
  Ending ended;
  {
    std::lock_guard lock(mutex_);
    ended = std::move(ending_.front());
    ending_.pop_front();
  }
  ended.done();
  return true;
}

void WorldRegistry::Close(const absl::Status& reason) {
  {
    std::lock_guard lock(mutex_);
    if (closed_.ok()) closed_ = reason;
    for (const auto& [id, creation] : creations_) creation->Cancel("the end of the server");
  }
  for (const auto& host : List()) host->RequestStop(reason);
}

void WorldRegistry::JoinAll() {
  worker_->Stop();
  while (EndNext()) {
  }
  for (const auto& host : List()) host->Join();
}

// The id may be that of another creation by now, if this one was cancelled.
void WorldRegistry::Free(const std::string& id, const Creation* creation) {
  std::lock_guard lock(mutex_);
  const auto found = creations_.find(id);
  if (found != creations_.end() && found->second.get() == creation) creations_.erase(found);
}

}  // namespace pliant::server
