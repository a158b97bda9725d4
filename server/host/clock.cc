#include "server/host/clock.h"

#include <algorithm>

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t kSamples = 20;
constexpr Seconds kSampleSpacing{0.05};

SteadyTime::duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

}  // namespace

void Pacer::Restart(SteadyTime now, double time, double factor) {
  anchor_ = now;
  anchor_time_ = time;
  factor_ = factor;
  given_up_ = 0;
  late_ = 0;
}

SteadyTime Pacer::CalcDue(double time) const {
  return anchor_ + FromSeconds((time - anchor_time_) / factor_);
}

void Pacer::Begin(SteadyTime now, double time) {
  late_ = std::max(0.0, Seconds(now - CalcDue(time)).count());
  if (late_ <= kSlack) return;

  // a delay beyond the slack is not caught up: move the clock instead
  anchor_ += FromSeconds(late_ - kSlack);
  given_up_ += late_ - kSlack;
  late_ = kSlack;
}

void RateMeter::Restart(SteadyTime now, double time) {
  samples_.assign(1, {now, time});
  rate_ = 0;
}

void RateMeter::Add(SteadyTime now, double time) {
  if (samples_.empty()) return Restart(now, time);
  const double elapsed = Seconds(now - samples_.front().at).count();
  if (elapsed > 0) rate_ = (time - samples_.front().time) / elapsed;
  if (now - samples_.back().at < kSampleSpacing) return;
  samples_.push_back({now, time});
  if (samples_.size() > kSamples) samples_.pop_front();
}

}  // namespace pliant::server
