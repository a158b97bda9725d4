#pragma once

namespace pliant::server {

// Sampling times: the start, then every multiple of 1/rate, or every step when the rate is 0.
class SamplingSchedule {
 public:
  // `rate` [Hz]; `start` and `time_step` [s].
  SamplingSchedule(double rate, double start, double time_step);

  // True if a sample is due at time t [s]. Call once after each step. The first call, at the start,
  // returns true.
  bool IsDue(double t);

 private:
  double rate_;
  double slack_;  // steps end a rounding error before or after a multiple
  double next_;
};

}  // namespace pliant::server
