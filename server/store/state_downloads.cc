#include "server/store/state_downloads.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"

namespace pliant::server {
namespace {

// The random part ensures that a handle does not name another state after a restart of the server.
std::string MakeHandle(std::int64_t number) {
  std::random_device device;
  return absl::StrCat(number, "-", absl::Hex(device(), absl::kZeroPad8),
                      absl::Hex(device(), absl::kZeroPad8));
}

absl::Status UnknownHandle(const std::string& handle) {
  return absl::NotFoundError(
      absl::StrCat("handle: \"", Shorten(handle, 80), "\" is unknown, or was not used for ",
                   StateDownloads::kMaxPause.count(), " s; fetch the state again from its start"));
}

}  // namespace

StateDownloads::StateDownloads(Timeline* timeline)
    : timeline_(timeline),
      worker_(timeline->Start([this] { return DropExpired(); }, {"downloads"})) {}

StateDownloads::~StateDownloads() {
  Stop();
}

void StateDownloads::Stop() {
  worker_->Stop();
}

absl::StatusOr<std::string> StateDownloads::Open(Source source, std::string state) {
  const auto size = static_cast<std::int64_t>(state.size());
  std::string handle;
  {
    std::lock_guard lock(mutex_);
    if (absl::Status status = MakeRoom(source.user, size); !status.ok()) return status;
    handle = MakeHandle(++last_number_);
    downloads_[handle] = {std::move(source), std::make_shared<const std::string>(std::move(state)),
                          last_number_, timeline_->Now(), false};
  }
  worker_->Wake();
  return handle;
}

std::string StateDownloads::Find(const std::string& user, const std::string& name) const {
  std::lock_guard lock(mutex_);
  const std::string* handle = nullptr;
  std::int64_t number = 0;
  for (const auto& [key, download] : downloads_) {
    if (download.source.user != user || download.source.name != name || download.number < number)
      continue;
    handle = &key;
    number = download.number;
  }
  return handle == nullptr ? "" : *handle;
}

absl::StatusOr<StateDownloads::Source> StateDownloads::Describe(const std::string& handle) const {
  std::lock_guard lock(mutex_);
  const auto found = downloads_.find(handle);
  if (found == downloads_.end()) return UnknownHandle(handle);
  return found->second.source;
}

absl::StatusOr<StateDownloads::Chunk> StateDownloads::Read(const std::string& handle,
                                                           std::int64_t offset,
                                                           std::int64_t max_bytes) {
  std::shared_ptr<const std::string> state;
  {
    std::lock_guard lock(mutex_);
    const auto found = downloads_.find(handle);
    if (found == downloads_.end()) return UnknownHandle(handle);
    Download& download = found->second;
    state = download.state;
    download.last_use = timeline_->Now();
    const auto size = static_cast<std::int64_t>(state->size());
    download.is_finished = download.is_finished || size - std::min(offset, size) <= max_bytes;
  }
  const auto size = static_cast<std::int64_t>(state->size());
  return Chunk{state->substr(static_cast<std::size_t>(std::min(offset, size)),
                             static_cast<std::size_t>(max_bytes)),
               size};
}

// Call with mutex_ locked, as the functions below.
absl::Status StateDownloads::MakeRoom(const std::string& user, std::int64_t size) {
  while (CountOf(user) >= kMaxPerUser) {
    if (DropFinished(&user)) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat(user, " reads ", kMaxPerUser,
                     " states, which is the limit of a user; read one to its end first"));
  }
  while (!downloads_.empty() && (downloads_.size() >= kMaxOpen || CountBytes() + size > kMaxHeld)) {
    if (DropFinished(nullptr)) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        downloads_.size(), " states of ", CountBytes(), " bytes are being read, and at most ",
        kMaxOpen, " of ", kMaxHeld, " are at once; try again in a moment"));
  }
  return absl::OkStatus();
}

// Drops the least recently used state that was read to its end, of one user or of all. False if
// there is none.
bool StateDownloads::DropFinished(const std::string* user) {
  auto oldest = downloads_.end();
  for (auto at = downloads_.begin(); at != downloads_.end(); ++at) {
    const Download& download = at->second;
    if (!download.is_finished || (user != nullptr && download.source.user != *user)) continue;
    if (oldest == downloads_.end() || download.last_use < oldest->second.last_use) oldest = at;
  }
  if (oldest == downloads_.end()) return false;
  downloads_.erase(oldest);
  return true;
}

std::size_t StateDownloads::CountOf(const std::string& user) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      downloads_, [&](const auto& entry) { return entry.second.source.user == user; }));
}

std::int64_t StateDownloads::CountBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [handle, download] : downloads_)
    bytes += static_cast<std::int64_t>(download.state->size());
  return bytes;
}

// Returns the time when the next one may expire.
SteadyTime StateDownloads::DropExpired() {
  std::lock_guard lock(mutex_);
  const SteadyTime now = timeline_->Now();
  std::erase_if(downloads_,
                [&](const auto& entry) { return now - entry.second.last_use >= kMaxPause; });
  SteadyTime next = kNever;
  for (const auto& [handle, download] : downloads_)
    next = std::min(next, download.last_use + kMaxPause);
  return next;
}

}  // namespace pliant::server
