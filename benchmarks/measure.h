#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace pliant::benchmarks {

// Seconds of a clock that only goes forward.
inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double Quantile(std::vector<double> x, double share) {
  const std::size_t k = static_cast<std::size_t>(share * static_cast<double>(x.size() - 1));
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(k), x.end());
  return x[k];
}

}  // namespace pliant::benchmarks
