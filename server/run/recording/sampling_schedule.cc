#include "server/run/recording/sampling_schedule.h"

#include <cmath>

namespace pliant::server {

SamplingSchedule::SamplingSchedule(double rate, double start, double time_step)
    : rate_(rate), slack_(1e-6 * time_step), next_(start) {}

bool SamplingSchedule::IsDue(double t) {
  if (rate_ <= 0) return true;
  if (t + slack_ < next_) return false;
  next_ = (std::floor((t + slack_) * rate_ + 1e-9) + 1) / rate_;
  return true;
}

}  // namespace pliant::server
