#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

#include "server/service/handlers.h"
#include "server/stream/task_pool.h"

namespace pliant::server {

// Calls `end` once, on a thread of the server, when the server drains, or when the caller's token
// expires or is revoked. For streams, which would otherwise wait for their client.
class StreamWatch : public TaskPool::Task, public std::enable_shared_from_this<StreamWatch> {
 public:
  using End = std::function<void(const absl::Status&)>;

  static std::shared_ptr<StreamWatch> Open(Handlers* handlers, std::shared_ptr<Caller> caller,
                                           End end) {
    auto watch = std::make_shared<StreamWatch>(handlers, std::move(caller), std::move(end));
    handlers->feedback_pool().Add(watch);
    return watch;
  }

  StreamWatch(Handlers* handlers, std::shared_ptr<Caller> caller, End end)
      : handlers_(handlers), caller_(std::move(caller)), end_(std::move(end)) {}

  // After it returns, `end` is not called.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      end_ = nullptr;
    }
    handlers_->feedback_pool().Remove(*this);
  }

  SteadyTime Run(SteadyTime now) override {
    std::lock_guard lock(mutex_);
    if (!end_) return kNever;
    const absl::Status status = handlers_->draining()
                                    ? absl::UnavailableError("the server is shutting down")
                                    : handlers_->CheckCurrent(*caller_);
    if (status.ok()) return handlers_->has_accounts() ? now + kInterval : kNever;
    std::exchange(end_, nullptr)(status);
    return kNever;
  }

 private:
  static constexpr std::chrono::seconds kInterval{1};  // between two checks of the token

  Handlers* const handlers_;
  const std::shared_ptr<Caller> caller_;
  std::mutex mutex_;
  End end_;
};

}  // namespace pliant::server
