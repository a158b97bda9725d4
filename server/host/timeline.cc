#include "server/host/timeline.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace pliant::server {
namespace {

class ThreadWorker final : public Timeline::Worker {
 public:
  explicit ThreadWorker(std::function<SteadyTime()> job)
      : job_(std::move(job)), thread_([this] { Run(); }) {}
  ~ThreadWorker() override { Stop(); }

  void Wake() override {
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(woken_, true)) return;
    }
    wake_.notify_one();
  }

  void Stop() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (true) {
      const SteadyTime next = job_();
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return stopping_ || woken_; };
      if (next == kNever) {
        wake_.wait(lock, ready);
      } else if (!ready() && next > std::chrono::steady_clock::now()) {
        wake_.wait_until(lock, next, ready);
      }
      if (stopping_) return;
      woken_ = false;
    }
  }

  const std::function<SteadyTime()> job_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  bool stopping_ = false;
  std::mutex join_mutex_;
  std::thread thread_;  // last, since it uses the others
};

class ThreadTimeline final : public Timeline {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Worker> Start(std::function<SteadyTime()> job) override {
    return std::make_unique<ThreadWorker>(std::move(job));
  }
};

}  // namespace

Timeline& RealTimeline() {
  static ThreadTimeline timeline;
  return timeline;
}

}  // namespace pliant::server
