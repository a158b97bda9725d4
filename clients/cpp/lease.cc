#include "pliant/lease.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "clients/cpp/connection.h"
#include "pliant/client.h"

namespace pliant {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A lease lapses after a second, so two renewals in a row may fail.
constexpr std::chrono::milliseconds kRenewal{300};
constexpr std::chrono::milliseconds kLapse{1000};
constexpr std::chrono::milliseconds kRetry{50};

}  // namespace

// The thread that renews a lease.
class Lease::Keeper {
 public:
  Keeper(std::shared_ptr<Client> client, v1::Lease lease, v1::AcquireLeaseRequest request)
      : client_(std::move(client)),
        lease_(std::move(lease)),
        request_(std::move(request)),
        used_at_(SteadyClock::now()) {
    request_.set_lease_id(lease_.lease_id());
    request_.set_takeover(false);
    thread_ = std::thread([this] { Run(); });
  }

  ~Keeper() {
    Release().IgnoreError();
    thread_.join();
  }

  const v1::Lease& lease() const { return lease_; }
  const std::shared_ptr<Client>& client() const { return client_; }

  absl::Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  void OnLost(std::function<void(const absl::Status&)> callback) {
    absl::Status reason;
    {
      const std::lock_guard lock(mutex_);
      if (status_.ok() || !callback) {
        on_lost_ = std::move(callback);
        return;
      }
      reason = status_;
    }
    if (!absl::IsCancelled(reason)) callback(reason);
  }

  void NoteUse() {
    const std::lock_guard lock(mutex_);
    used_at_ = SteadyClock::now();
  }

  // Ends the thread with a reason. Keeps the first one.
  void End(const absl::Status& reason) {
    std::function<void(const absl::Status&)> on_lost;
    {
      const std::lock_guard lock(mutex_);
      if (!status_.ok()) return;
      status_ = reason;
      on_lost.swap(on_lost_);
      ended_.notify_all();
    }
    if (on_lost && !absl::IsCancelled(reason)) on_lost(reason);
  }

  absl::Status Release() {
    if (!status().ok()) return absl::OkStatus();  // it is lost, or was released
    End(absl::CancelledError(absl::StrCat("the lease on \"", lease_.target(), "\" was released")));
    v1::ReleaseLeaseRequest request;
    request.set_world(lease_.world());
    request.set_lease_id(lease_.lease_id());
    const absl::Status status = client_->Call(request, {.timeout = kLapse}).status();
    // the server gave it back by itself, for instance when the stream of its commands ended
    return absl::IsFailedPrecondition(status) ? absl::OkStatus() : status;
  }

  // Renews at once, to find out whether the lease still holds. A call that fails for another reason
  // is ignored while the lease cannot have lapsed. Returns true if it was renewed.
  bool Check() {
    const SteadyClock::time_point asked_at = SteadyClock::now();
    const absl::StatusOr<v1::Lease> renewed = client_->Call(request_, {.timeout = kLapse});
    {
      const std::lock_guard lock(mutex_);
      if (renewed.ok()) used_at_ = std::max(used_at_, asked_at);
      const bool may_hold = SteadyClock::now() - used_at_ < kLapse;
      if (renewed.ok() || (may_hold && IsOfTheCall(renewed.status()))) return renewed.ok();
    }
    End(Explain(renewed.status()));
    return false;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    const auto has_ended = [&] { return !status_.ok(); };
    while (status_.ok()) {
      if (ended_.wait_until(lock, used_at_ + kRenewal, has_ended)) return;
      if (used_at_ + kRenewal > SteadyClock::now()) continue;  // a command has renewed it
      lock.unlock();
      const bool was_renewed = Check();
      lock.lock();
      if (!was_renewed) ended_.wait_for(lock, kRetry, has_ended);
    }
  }

  // Errors that say nothing about the lease.
  static bool IsOfTheCall(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
           absl::IsCancelled(status) || absl::IsResourceExhausted(status);
  }

  absl::Status Explain(const absl::Status& cause) const {
    return absl::Status(cause.code(), absl::StrCat("the lease on \"", lease_.target(),
                                                   "\" was lost: ", cause.message()));
  }

  const std::shared_ptr<Client> client_;
  const v1::Lease lease_;
  v1::AcquireLeaseRequest request_;  // renews the lease

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  SteadyClock::time_point used_at_;  // time of the last command or renewal
  absl::Status status_;
  std::function<void(const absl::Status&)> on_lost_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<Lease>> Lease::Acquire(std::shared_ptr<Client> client,
                                                      const std::string& world,
                                                      const std::string& target,
                                                      const LeaseOptions& options) {
  v1::AcquireLeaseRequest request;
  request.set_world(world);
  request.set_target(target);
  request.set_client(client->connection()->name());
  request.set_takeover(options.takeover);
  request.set_priority(options.priority);
  absl::StatusOr<v1::Lease> lease = client->Call(request);
  if (!lease.ok()) return lease.status();
  return std::unique_ptr<Lease>(new Lease(
      std::make_unique<Keeper>(std::move(client), *std::move(lease), std::move(request))));
}

Lease::Lease(std::unique_ptr<Keeper> keeper) : keeper_(std::move(keeper)) {}
Lease::~Lease() = default;

const std::string& Lease::world() const {
  return keeper_->lease().world();
}

const std::string& Lease::target() const {
  return keeper_->lease().target();
}

const std::string& Lease::id() const {
  return keeper_->lease().lease_id();
}

const std::shared_ptr<Client>& Lease::client() const {
  return keeper_->client();
}

absl::Status Lease::status() const {
  return keeper_->status();
}

void Lease::OnLost(std::function<void(const absl::Status&)> callback) {
  keeper_->OnLost(std::move(callback));
}

absl::Status Lease::Release() {
  return keeper_->Release();
}

void Lease::NoteCommand() {
  keeper_->NoteUse();
}

void Lease::Check() {
  keeper_->Check();
}

void Lease::Lose(const absl::Status& reason) {
  keeper_->End(reason);
}

}  // namespace pliant
