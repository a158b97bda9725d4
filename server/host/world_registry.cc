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

WorldRegistry::Reservation::Reservation(WorldRegistry* registry, std::string id)
    : registry_(registry), id_(std::move(id)) {}

WorldRegistry::Reservation::Reservation(Reservation&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)), id_(std::move(other.id_)) {}

WorldRegistry::Reservation::~Reservation() {
  if (registry_ != nullptr) registry_->Free(id_);
}

WorldRegistry::WorldRegistry(Options options)
    : options_(std::move(options)), worker_(options_.timeline->Start([this] { return Tend(); })) {}

WorldRegistry::~WorldRegistry() {
  Close(absl::UnavailableError("the server has shut down"));
  JoinAll();
}

absl::StatusOr<WorldRegistry::Reservation> WorldRegistry::Reserve(std::string id) {
  if (!id.empty()) {
    if (absl::Status status = CheckWorldId(id); !status.ok()) return status;
  }
  std::lock_guard lock(mutex_);
  if (!closed_.ok()) return closed_;
  const std::size_t count = worlds_.size() + ending_.size();
  if (count >= static_cast<std::size_t>(options_.max_worlds)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", count,
                     " worlds, which is its limit; delete one before creating another"));
  }
  const auto reserved =
      std::ranges::count_if(worlds_, [](const auto& entry) { return entry.second == nullptr; });
  if (reserved >= options_.max_reserved()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        reserved, " worlds are being built, which is the limit; try again when one is ready"));
  }
  if (id.empty()) {
    do {
      id = absl::StrCat("world-", next_number_++);
    } while (worlds_.contains(id));
  }
  if (!worlds_.emplace(id, nullptr).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("worlds/", id, " already exists; choose another world_id"));
  }
  return Reservation(this, std::move(id));
}

absl::StatusOr<std::shared_ptr<WorldHost>> WorldRegistry::Open(Reservation reservation,
                                                               physics::World world,
                                                               const ClockMode& clock,
                                                               WorldSettings settings,
                                                               std::shared_ptr<Journal> journal) {
  auto controller = options_.make_controller(world.shared_model());
  auto host = std::make_shared<WorldHost>(reservation.id(), std::move(world), std::move(controller),
                                          options_.timeline, clock, std::move(settings),
                                          std::move(journal));
  {
    std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    const std::int64_t dofs = host->model().velocity_offsets.back(), held = CountDofs();
    if (options_.max_dofs > 0 && held + dofs > options_.max_dofs) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the scene has ", dofs, " degrees of freedom, and the server has ",
                       options_.max_dofs - held, " of its ", options_.max_dofs,
                       " left; delete a world, or make the scene smaller"));
    }
    worlds_[reservation.id()] = host;
    reservation.registry_ = nullptr;
  }
  spdlog::info("event=world_created world={} scene=\"{}\" model={}", host->id(), host->model().name,
               host->model().hash);
  worker_->Wake();
  return host;
}

// Call with mutex_ locked.
std::int64_t WorldRegistry::CountDofs() const {
  std::int64_t dofs = 0;
  for (const auto& [id, host] : worlds_) {
    if (host != nullptr) dofs += host->model().velocity_offsets.back();
  }
  for (const Ending& ending : ending_) dofs += ending.host->model().velocity_offsets.back();
  return dofs;
}

absl::StatusOr<std::shared_ptr<WorldHost>> WorldRegistry::Get(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = worlds_.find(id);
  if (found == worlds_.end() || found->second == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no world worlds/", Shorten(id, 80)));
  }
  return found->second;
}

std::vector<std::shared_ptr<WorldHost>> WorldRegistry::List() const {
  std::vector<std::shared_ptr<WorldHost>> hosts;
  std::lock_guard lock(mutex_);
  for (const auto& [id, host] : worlds_) {
    if (host != nullptr) hosts.push_back(host);
  }
  return hosts;
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

// Removes worlds that were idle for too long. Returns the time when the next one may have been.
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
  }
  for (const auto& host : List()) host->RequestStop(reason);
}

void WorldRegistry::JoinAll() {
  worker_->Stop();
  while (EndNext()) {
  }
  for (const auto& host : List()) host->Join();
}

void WorldRegistry::Free(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = worlds_.find(id);
  if (found != worlds_.end() && found->second == nullptr) worlds_.erase(found);
}

}  // namespace pliant::server
