#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "server/host/timeline.h"
#include "server/host/world_settings.h"

namespace pliant::server {

// Progress and cancellation of the creation of a world. Used from any thread.
class Creation {
 public:
  Creation(WorldSettings settings, SteadyTime started)
      : settings_(std::move(settings)), started_(started) {}

  const WorldSettings& settings() const { return settings_; }
  SteadyTime started() const { return started_; }

  void Report(double progress) { progress_.store(progress); }
  double progress() const { return progress_.load(); }  // 0 … 1

  void Cancel(const std::string& who) {
    std::lock_guard lock(mutex_);
    if (cancelled_by_.empty()) cancelled_by_ = who;
  }
  // Client that cancelled it; empty: none.
  std::string cancelled_by() const {
    std::lock_guard lock(mutex_);
    return cancelled_by_;
  }

 private:
  const WorldSettings settings_;
  const SteadyTime started_;
  std::atomic<double> progress_{0};
  mutable std::mutex mutex_;
  std::string cancelled_by_;
};

}  // namespace pliant::server
