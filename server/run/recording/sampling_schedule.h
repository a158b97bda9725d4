#pragma once

namespace pliant::server {

// When to take samples: at the start, then at every multiple of 1/rate, or after every step when
// the rate is 0.
class SamplingSchedule {
 public:
  // `rate` [Hz]; `start` and `time_step` [s].
  SamplingSchedule(double rate, double start, double time_step);

  // Whether a sample is due at time t [s], asked once after each step. The first question, at the
  // start, is answered yes.
  bool IsDue(double t);

 private:
  double rate_;
  double slack_;  // steps end a rounding error before or after a multiple
  double next_;
};

}  // namespace pliant::server
