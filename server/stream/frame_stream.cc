#include "server/stream/frame_stream.h"

#include <algorithm>
#include <cmath>

#include "server/stream/world_streams.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kHeartbeat{1};
constexpr std::size_t kMaxFramesInFlight = 1024;  // of a viewer that never acknowledges

SteadyTime::duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

// Time between two publications of a world [s]; 0 if it does not run in time.
double CalcSpacing(const Published& published) {
  if (published.clock.kind != ClockMode::Kind::kRealTime) return 0;
  return published.snapshot->model->time_step / published.clock.factor;
}

}  // namespace

FrameStream::FrameStream(StreamCounters* counters, FrameSink* sink, Subscription subscription)
    : counters_(counters), sink_(sink), subscription_(std::move(subscription)) {
  counters_->open.fetch_add(1);
}

FrameStream::~FrameStream() {
  counters_->open.fetch_sub(1);
}

void FrameStream::Open() {
  world()->Add(shared_from_this());
}

std::shared_ptr<WorldStreams> FrameStream::world() {
  std::lock_guard lock(mutex_);
  return subscription_.world;
}

void FrameStream::Change(Subscription subscription) {
  const std::shared_ptr<WorldStreams> next = subscription.world;
  std::shared_ptr<WorldStreams> previous;
  {
    std::lock_guard lock(mutex_);
    previous = subscription_.world;
    subscription_ = std::move(subscription);
    sent_version_ = 0;
  }
  if (next == previous) return next->Wake();
  previous->Remove(*this);
  next->Add(shared_from_this());
}

void FrameStream::Ready() {
  std::shared_ptr<WorldStreams> world;
  {
    std::lock_guard lock(mutex_);
    ready_ = true;
    world = subscription_.world;
  }
  world->Wake();
}

void FrameStream::Ack(std::uint64_t frame, SteadyTime now) {
  std::shared_ptr<WorldStreams> world;
  {
    std::lock_guard lock(mutex_);
    world = subscription_.world;
    acknowledges_ = true;
    while (!under_way_.empty() && under_way_.front().first <= frame) {
      if (under_way_.front().first == frame) {
        const Seconds elapsed = now - under_way_.front().second;
        counters_->acked.fetch_add(1);
        counters_->ack_seconds.fetch_add(elapsed.count());
      }
      under_way_.pop_front();
    }
  }
  world->Wake();
}

void FrameStream::Close() {
  std::shared_ptr<WorldStreams> world;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    world = subscription_.world;
  }
  world->Remove(*this);
}

void FrameStream::SendEnd(const WorldStreams* world, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (subscription_.world.get() != world) return;
  if (!std::exchange(closed_, true)) sink_->SendEnd(why);
}

SteadyTime FrameStream::Visit(const WorldStreams* world, SteadyTime now, SteadyTime origin,
                              EncodedState* state, SteadyTime* wanted) {
  std::lock_guard lock(mutex_);
  if (closed_ || subscription_.world.get() != world) return kNever;
  const Published& published = state->published();
  const bool first = sent_version_ == 0;
  const bool fresh = published.version != sent_version_;
  const bool heartbeat = !first && now >= last_sent_ + kHeartbeat;
  const auto interval = FromSeconds(1 / subscription_.rate);

  // of a world in real time, send the publication nearest to the due time, when it is published
  const auto spacing = FromSeconds(CalcSpacing(published));
  const auto early = std::min(spacing, interval) / 2;
  if (!first && !heartbeat) {
    const bool skipped = published.version == skipped_version_;  // it came too early
    *wanted = std::min(*wanted, next_due_ - early);
    if (!fresh) return last_sent_ + kHeartbeat;
    if (now < (skipped ? next_due_ + spacing : next_due_ - early)) {
      skipped_version_ = published.version;
      return next_due_ + spacing;  // if nothing is published until then
    }
  }

  // due, but the viewer is not ready: send nothing now, and the latest state later
  if (!ready_ || (acknowledges_ && under_way_.size() >= kMaxUnacknowledged)) {
    *wanted = std::min(*wanted, now);
    if (fresh && published.version != missed_version_) {
      missed_version_ = published.version;
      counters_->dropped.fetch_add(1);
    }
    return kNever;
  }

  // keyframes of all streams are due at the same times, too
  const auto second = (now - origin) / kHeartbeat;
  const bool keyframe = first || second != keyframe_second_;
  const std::uint64_t since = keyframe ? 0 : sent_version_;
  keyframe_second_ = second;
  ready_ = false;
  sent_version_ = published.version;
  last_sent_ = now;
  const auto slots = (now + early - origin) / interval;
  next_due_ = origin + (slots + 1) * interval;
  *wanted = std::min(*wanted, next_due_ - early);
  under_way_.emplace_back(++frame_, now);
  if (under_way_.size() > kMaxFramesInFlight) under_way_.pop_front();
  counters_->sent.fetch_add(1);
  sink_->SendFrame({frame_, keyframe, subscription_.number},
                   state->Encode(subscription_.choice, since));
  return last_sent_ + kHeartbeat;
}

}  // namespace pliant::server
