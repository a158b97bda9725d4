#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace pliant::server {

// Progress of a run on stderr: one updated line on a terminal, a new line every few seconds
// elsewhere.
class Progress {
 public:
  explicit Progress(std::int64_t steps);
  ~Progress();  // leaves a clean line on a terminal

  void Update(std::int64_t done, double simulated_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t steps_;
  bool terminal_;
  Clock::time_point start_, last_;
  bool shown_ = false;
};

}  // namespace pliant::server
