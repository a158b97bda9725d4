#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "server/host/histogram.h"

namespace pliant::server {

// Totals over all streams of a server.
struct StreamCounters {
  std::atomic<std::uint64_t> sent{0};
  std::array<std::atomic<std::uint64_t>, 2> bytes{};  // by tier: full, decimated
  // states that were due while the viewer could not take them
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> encoded{0};  // sections
  std::atomic<double> encode_seconds{0};  // summed
  std::atomic<std::uint64_t> acked{0};
  std::atomic<double> ack_seconds{0};  // from sending to acknowledgement, summed
  std::atomic<int> open{0};

  // Adds the time from the publication of a state to a frame of it that was due then.
  void AddLag(double seconds) {
    std::lock_guard lock(mutex_);
    lag_.Add(seconds);
  }
  Histogram lag() const {
    std::lock_guard lock(mutex_);
    return lag_;
  }

 private:
  mutable std::mutex mutex_;
  Histogram lag_;
};

}  // namespace pliant::server
