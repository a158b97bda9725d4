#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace pliant::server {

// Counts of durations [s] between fixed bounds, as Prometheus has them.
struct Histogram {
  static constexpr std::array kBounds = {1e-5, 3e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1.5e-3, 2e-3,
                                         3e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  1.0};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // up to each bound, and beyond the last
  double sum = 0;                                          // [s]

  void Add(double seconds) {
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    ++counts[bound - kBounds.begin()];
    sum += seconds;
  }
};

}  // namespace pliant::server
