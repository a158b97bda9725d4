#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace pliant::server {

using SteadyTime = std::chrono::steady_clock::time_point;

// How a world's time passes.
struct ClockMode {
  enum class Kind { kPaused, kRealTime, kFreeRun };
  Kind kind = Kind::kPaused;
  double factor = 1;  // simulated seconds a second, when kRealTime
};

// Says when steps are due in real time. Deadlines are absolute, so that jitter does not add up. A
// world that is late by more than `kSlack` gives the rest up: it slows down evenly and never
// spirals into catching up.
class Pacer {
 public:
  static constexpr double kSlack = 0.05;  // [s]

  // From here, simulated time `time` [s] falls on `now` and passes `factor` times as fast as the
  // steady clock.
  void Restart(SteadyTime now, double time, double factor);

  // When the step that starts at `time` is due.
  SteadyTime CalcDue(double time) const;

  // The step that starts at `time` begins now.
  void Begin(SteadyTime now, double time);

  // How far the world is behind the clock it was given, what was given up included [s].
  double lag() const { return given_up_ + late_; }

 private:
  SteadyTime anchor_;
  double anchor_time_ = 0;
  double factor_ = 1;
  double given_up_ = 0;
  double late_ = 0;
};

// Simulated seconds a second over the last second or so.
class RateMeter {
 public:
  void Restart(SteadyTime now, double time);
  void Add(SteadyTime now, double time);
  double rate() const { return rate_; }

 private:
  struct Sample {
    SteadyTime at;
    double time;
  };
  std::deque<Sample> samples_;  // at most kSamples, at least 50 ms apart
  double rate_ = 0;
};

}  // namespace pliant::server
