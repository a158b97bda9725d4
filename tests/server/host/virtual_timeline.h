#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "server/host/timeline.h"

namespace pliant::server {

// Time that passes only when a test says so, and workers that run on the test's thread. Jobs due at
// the same time run in an order drawn from the seed, so that a run can be repeated.
class VirtualTimeline : public Timeline {
 public:
  explicit VirtualTimeline(std::uint64_t seed = 1) : random_(seed) {}

  SteadyTime Now() const override { return now_; }

  std::unique_ptr<Worker> Start(std::function<SteadyTime()> job, Thread) override {
    auto entry = std::make_shared<Entry>();
    entry->job = std::move(job);
    entry->due = now_;
    entries_.push_back(entry);
    return std::make_unique<VirtualWorker>(this, std::move(entry));
  }

  // Runs all jobs that are due until `time`, then sets the present time to it.
  void RunUntil(SteadyTime time) {
    while (const std::shared_ptr<Entry> next = FindNext(time)) {
      now_ = std::max(now_, next->due);
      next->due = kNever;
      const SteadyTime due = next->job();
      // a run takes some time, so that jobs that are always ready do not keep time from passing
      next->due = std::min(next->due, due == kNever ? due : std::max(due, now_ + kRunTime));
    }
    now_ = std::max(now_, time);
  }
  template <typename Rep, typename Period>
  void RunFor(std::chrono::duration<Rep, Period> time) {
    RunUntil(now_ + std::chrono::duration_cast<SteadyTime::duration>(time));
  }

 private:
  static constexpr std::chrono::microseconds kRunTime{1};

  struct Entry {
    std::function<SteadyTime()> job;
    SteadyTime due = kNever;
    bool stopped = false;
  };

  class VirtualWorker final : public Worker {
   public:
    VirtualWorker(VirtualTimeline* timeline, std::shared_ptr<Entry> entry)
        : timeline_(timeline), entry_(std::move(entry)) {}
    ~VirtualWorker() override { Stop(); }
    void Wake() override { entry_->due = std::min(entry_->due, timeline_->now_ + kRunTime); }
    void Stop() override {
      if (!std::exchange(entry_->stopped, true)) std::erase(timeline_->entries_, entry_);
    }

   private:
    VirtualTimeline* const timeline_;
    const std::shared_ptr<Entry> entry_;
  };

  std::shared_ptr<Entry> FindNext(SteadyTime limit) {
    SteadyTime earliest = kNever;
    for (const auto& entry : entries_) earliest = std::min(earliest, entry->due);
    if (earliest > limit || earliest == kNever) return nullptr;
    std::vector<std::shared_ptr<Entry>> due;
    for (const auto& entry : entries_) {
      if (entry->due == earliest) due.push_back(entry);
    }
    return due[random_() % due.size()];
  }

  SteadyTime now_{std::chrono::hours(1)};
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace pliant::server
