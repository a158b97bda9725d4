#include "server/host/timeline.h"

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/resource.h>

namespace pliant::server {
namespace {

constexpr int kBackgroundNice = 5;  // a third of the weight of other threads

void Configure(const Timeline::Thread& thread) {
  pthread_setname_np(pthread_self(), thread.name.substr(0, 15).c_str());
  // failure is harmless: the thread then competes more with others
  if (thread.in_background) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNice);
}

class ThreadWorker final : public Timeline::Worker {
 public:
  ThreadWorker(std::function<SteadyTime()> job, Timeline::Thread thread)
      : job_(std::move(job)), thread_([this, thread = std::move(thread)] {
          Configure(thread);
          Run();
        }) {}
  ~ThreadWorker() override { Stop(); }

  void Wake() override {
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(woken_, true)) return;
    }
    wake_.notify_one();
  }

  bool TryRun(int times) override {
    std::unique_lock lock(mutex_);
    if (running_ || stopping_) return false;
    const SteadyTime awaited = due_;
    RunJob(lock);
    for (int i = 1; i < times && !stopping_; ++i) {
      if (!woken_ && due_ > std::chrono::steady_clock::now()) break;
      RunJob(lock);
    }
    // the thread waits until `awaited`, or missed a wake-up meanwhile
    if (due_ < awaited || woken_ || stopping_) wake_.notify_one();
    return true;
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
    std::unique_lock lock(mutex_);
    while (true) {
      AwaitTurn(lock);
      if (stopping_) return;
      RunJob(lock);
    }
  }

  // Returns when there is something to do and no other thread runs the job.
  void AwaitTurn(std::unique_lock<std::mutex>& lock) {
    while (true) {
      if (running_) {
        wake_.wait(lock);
        continue;
      }
      if (stopping_ || woken_) return;
      const SteadyTime due = due_;
      if (due == kNever) {
        wake_.wait(lock);
      } else if (due <= std::chrono::steady_clock::now() ||
                 wake_.wait_until(lock, due) == std::cv_status::timeout) {
        if (!running_ && due_ <= due) return;
      }
    }
  }

  void RunJob(std::unique_lock<std::mutex>& lock) {
    running_ = true;
    woken_ = false;
    lock.unlock();
    const SteadyTime next = job_();
    lock.lock();
    running_ = false;
    due_ = next;
  }

  const std::function<SteadyTime()> job_;
  std::mutex mutex_;
  std::condition_variable wake_;  // only the thread waits for it
  SteadyTime due_;                // the epoch of the clock at first: at once
  bool running_ = false;
  bool woken_ = false;
  bool stopping_ = false;
  std::mutex join_mutex_;
  std::thread thread_;  // last, since it uses the others
};

class ThreadTimeline final : public Timeline {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Worker> Start(std::function<SteadyTime()> job, Thread thread) override {
    return std::make_unique<ThreadWorker>(std::move(job), std::move(thread));
  }
};

}  // namespace

Timeline& RealTimeline() {
  static ThreadTimeline timeline;
  return timeline;
}

}  // namespace pliant::server
