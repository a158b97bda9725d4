#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "server/host/timeline.h"

namespace pliant::server {

// Admits requests up to a rate, in bursts of up to one second's worth. Usable from any thread.
class RateLimit {
 public:
  explicit RateLimit(int per_second)
      : interval_(std::chrono::duration_cast<SteadyTime::duration>(std::chrono::seconds(1)) /
                  per_second) {}

  // True if a request of this cost is within the rate. A refused one is not counted.
  bool Admit(int cost, SteadyTime now) {
    SteadyTime paid = paid_until_.load();
    while (true) {
      const SteadyTime next = std::max(paid, now - std::chrono::seconds(1)) + cost * interval_;
      if (next > now) return false;
      if (paid_until_.compare_exchange_weak(paid, next)) return true;
    }
  }

 private:
  const SteadyTime::duration interval_;
  std::atomic<SteadyTime> paid_until_{SteadyTime::min()};
};

}  // namespace pliant::server
