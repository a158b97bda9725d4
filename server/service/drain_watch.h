#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "server/service/handlers.h"
#include "server/stream/task_pool.h"

namespace pliant::server {

// Calls `end` once when the server drains, on a thread of the server. For streams that would
// otherwise wait for a client.
class DrainWatch : public TaskPool::Task, public std::enable_shared_from_this<DrainWatch> {
 public:
  static std::shared_ptr<DrainWatch> Open(Handlers* handlers, std::function<void()> end) {
    auto watch = std::make_shared<DrainWatch>(handlers, std::move(end));
    handlers->feedback_pool().Add(watch);
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
    handlers_->feedback_pool().Remove(*this);
  }

  SteadyTime Run(SteadyTime) override {
    std::lock_guard lock(mutex_);
    if (end_ && handlers_->draining()) std::exchange(end_, nullptr)();
    return kNever;
  }

 private:
  Handlers* const handlers_;
  std::mutex mutex_;
  std::function<void()> end_;
};

}  // namespace pliant::server
