#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "server/host/timeline.h"

namespace pliant::server {

// Clock of a world.
struct ClockMode {
  enum class Kind { kPaused, kStepping, kRealTime, kFreeRun };  // kStepping: on request
  Kind kind = Kind::kPaused;
  double factor = 1;     // simulated seconds a second, when kRealTime
  std::string client{};  // when kStepping: client whose steps are made
  int waiting = 0;       // when kStepping: further requests to step
};

// Paces steps in real time. Deadlines are absolute, so jitter does not accumulate. Lateness beyond
// `kSlack` is given up: the world slows down evenly instead of trying to catch up.
class Pacer {
 public:
  static constexpr double kSlack = 0.05;  // [s]

  // Maps simulated time `time` [s] to `now`; from then on it passes `factor` times as fast as the
  // steady clock.
  void Restart(SteadyTime now, double time, double factor);

  // Time at which the step that starts at `time` is due.
  SteadyTime CalcDue(double time) const;

  // Records that the step that starts at `time` begins now.
  void Begin(SteadyTime now, double time);

  // Delay of the world behind its clock, including time given up [s].
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
