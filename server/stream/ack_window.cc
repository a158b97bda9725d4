#include "server/stream/ack_window.h"

#include <algorithm>

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t kMaxRecorded = 1024;  // frames of a viewer that never acknowledges
// A frame queues behind another if it takes this much longer than one that was sent alone.
constexpr double kQueueingRatio = 1.5;
constexpr double kQueueingTime = 0.005;  // [s]; less is the noise of a busy machine
// Then the limit is one frame for this time [s], or for the time of this number of frames.
constexpr double kSingleTime = 2;
constexpr double kSingleFrames = 8;

}  // namespace

bool AckWindow::IsFull(SteadyTime now) const {
  if (!acknowledges_) return false;
  return under_way_.size() >= (now < single_until_ ? 1 : kMaxUnacknowledged);
}

void AckWindow::Send(std::uint64_t frame, SteadyTime now) {
  under_way_.push_back({frame, now, under_way_.empty()});
  if (under_way_.size() > kMaxRecorded) under_way_.pop_front();
}

std::optional<double> AckWindow::Acknowledge(std::uint64_t frame, SteadyTime now) {
  acknowledges_ = true;
  std::optional<double> lag;
  while (!under_way_.empty() && under_way_.front().frame <= frame) {
    const UnderWay received = under_way_.front();
    under_way_.pop_front();
    if (received.frame != frame) continue;
    lag = Seconds(now - received.sent).count();
    Adapt(received, *lag, now);
  }
  return lag;
}

void AckWindow::Adapt(const UnderWay& received, double lag, SteadyTime now) {
  if (received.alone) {
    lag_alone_ = lag;
  } else if (lag > kQueueingRatio * lag_alone_ + kQueueingTime) {
    const double time = std::max(kSingleTime, kSingleFrames * lag_alone_);
    single_until_ = now + std::chrono::duration_cast<SteadyTime::duration>(Seconds(time));
  }
}

}  // namespace pliant::server
