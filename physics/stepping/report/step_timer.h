#pragma once

#include <chrono>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Reports the wall time of each phase of a step, and of the whole.
class StepTimer {
 public:
  explicit StepTimer(StepReport* report)
      : report_(report), start_(std::chrono::steady_clock::now()), last_(start_) {}

  // Attributes the time since the last call to `phase`.
  void Lap(Phase phase) {
    const auto now = std::chrono::steady_clock::now();
    report_->phase_seconds[static_cast<int>(phase)] += Seconds(now - last_);
    report_->seconds = Seconds(now - start_);
    last_ = now;
  }

 private:
  static double Seconds(std::chrono::steady_clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  StepReport* report_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace pliant::physics
