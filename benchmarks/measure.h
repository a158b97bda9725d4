#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace pliant::benchmarks {

// Reads a monotonic clock [s].
inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU time of this thread [s]. Other load on the machine does not count.
inline double ThreadNow() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// CPU time of all threads of this process [s].
inline double ProcessNow() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Quantile `share` in [0, 1] of a sample that is not empty.
inline double Quantile(std::vector<double> x, double share) {
  const std::size_t k = static_cast<std::size_t>(share * static_cast<double>(x.size() - 1));
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(k), x.end());
  return x[k];
}

// Median time of f in `rounds` calls [s], after one that is not timed.
template <typename F>
double TimeMedian(int rounds, const F& f) {
  std::vector<double> seconds;
  f();
  for (int k = 0; k < rounds; ++k) {
    const double start = Now();
    f();
    seconds.push_back(Now() - start);
  }
  return Quantile(seconds, 0.5);
}

// Restarts the measurement of this process's peak memory, where the system supports that.
// ReadPeakMemory returns the peak [MB].
inline void ForgetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << 5;
}
inline double ReadPeakMemory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:")) return 1024e-6 * std::atof(line.c_str() + 6);
  return 0;
}

}  // namespace pliant::benchmarks
