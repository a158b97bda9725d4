#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "server/service/handlers.h"
#include "server/stream/pump.h"

namespace pliant::server {

// Calls `end` once when the server drains, on the pump's thread. For streams that would otherwise
// wait for a client.
class DrainWatch : public PumpClient, public std::enable_shared_from_this<DrainWatch> {
 public:
  static std::shared_ptr<DrainWatch> Open(Handlers* handlers, std::function<void()> end) {
    auto watch = std::make_shared<DrainWatch>(handlers, std::move(end));
    handlers->pump().Add(watch);
    return watch;
  }

  DrainWatch(Handlers* handlers, std::function<void()> end)
      : handlers_(handlers), end_(std::move(end)) {}

  // After it returns, `end` is not called.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      end_ = nullptr;
    }
    handlers_->pump().Remove(shared_from_this());
  }

  SteadyTime Visit(SteadyTime) override {
    std::lock_guard lock(mutex_);
    if (end_ && handlers_->draining()) std::exchange(end_, nullptr)();
    return SteadyTime::max();
  }

 private:
  Handlers* const handlers_;
  std::mutex mutex_;
  std::function<void()> end_;
};

}  // namespace pliant::server
