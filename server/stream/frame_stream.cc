#include "server/stream/frame_stream.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/stream/world_streams.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kHeartbeat{1};

SteadyTime::duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

// Time between two publications of a world [s]; 0 if it does not run in time.
double CalcSpacing(const Published& published) {
  if (published.clock.kind != ClockMode::Kind::kRealTime) return 0;
  return published.snapshot->model->time_step / published.clock.factor;
}

// A subscription whose frames grow with the number of contacts.
absl::Status TooLarge(std::size_t size, std::size_t limit) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the next frame has ", size, " bytes, and at most ", limit,
                   " are sent at once; subscribe without contacts, or to fewer bodies"));
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
    fields_version_ = 0;
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
    if (waiting_) world = subscription_.world;
  }
  if (world != nullptr) world->Wake();
}

void FrameStream::Ack(std::uint64_t frame, SteadyTime now) {
  std::shared_ptr<WorldStreams> world;
  {
    std::lock_guard lock(mutex_);
    if (waiting_) world = subscription_.world;
    if (const std::optional<double> lag = window_.Acknowledge(frame, now)) {
      counters_->acked.fetch_add(1);
      counters_->ack_seconds.fetch_add(*lag);
    }
  }
  if (world != nullptr) world->Wake();
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

SteadyTime FrameStream::Visit(StreamPass* pass) {
  std::lock_guard lock(mutex_);
  if (closed_ || subscription_.world.get() != pass->world) return kNever;
  const Published& published = pass->state->published();
  const SteadyTime now = pass->now;
  const bool first = sent_version_ == 0;
  const bool fresh = published.version != sent_version_;
  const bool heartbeat = !first && now >= last_sent_ + kHeartbeat;
  const auto interval = FromSeconds(1 / subscription_.rate);

  // for a world in real time, send the publication nearest to the due time, when it is published
  const auto spacing = FromSeconds(CalcSpacing(published));
  const auto early = std::min(spacing, interval) / 2;
  if (!first && !heartbeat) {
    const bool skipped = published.version == skipped_version_;  // it came too early
    pass->wanted = std::min(pass->wanted, next_due_ - early);
    if (!fresh) return last_sent_ + kHeartbeat;
    if (now < (skipped ? next_due_ + spacing : next_due_ - early)) {
      skipped_version_ = published.version;
      return next_due_ + spacing;  // if nothing is published until then
    }
  }

  // due, but the viewer is not ready: send nothing now, and the latest state later
  waiting_ = !ready_ || window_.IsFull(now);
  if (waiting_) {
    pass->wanted = std::min(pass->wanted, now);
    if (fresh && published.version != missed_version_) {
      missed_version_ = published.version;
      counters_->dropped.fetch_add(1);
    }
    return kNever;
  }
  Send(early, pass);
  return last_sent_ + kHeartbeat;
}

void FrameStream::Send(SteadyTime::duration early, StreamPass* pass) {
  const Published& published = pass->state->published();
  const std::uint64_t version = published.version;
  const bool at_once =
      version != sent_version_ && version != skipped_version_ && version != missed_version_;

  // keyframes of all streams are due at the same times, too
  const auto second = (pass->now - pass->origin) / kHeartbeat;
  const bool keyframe = sent_version_ == 0 || second != keyframe_second_;
  const auto time = pass->now + early - pass->origin;
  const FrameParts parts = TakeParts(time, keyframe);
  if (parts.fields) fields_version_ = version;
  keyframe_second_ = second;
  ready_ = false;
  sent_version_ = version;
  last_sent_ = pass->now;
  const auto interval = FromSeconds(1 / subscription_.rate);
  next_due_ = pass->origin + (time / interval + 1) * interval;
  pass->wanted = std::min(pass->wanted, next_due_ - early);
  window_.Send(++frame_, pass->now);

  std::shared_ptr<const std::string> body = pass->state->Encode(subscription_.choice, parts);
  if (body->size() > subscription_.max_frame) {
    closed_ = true;
    return sink_->SendEnd(TooLarge(body->size(), subscription_.max_frame));
  }
  counters_->sent.fetch_add(1);
  counters_->bytes[subscription_.choice.tier].fetch_add(body->size());
  sink_->SendFrame({frame_, keyframe, subscription_.number}, std::move(body));
  if (at_once) counters_->AddLag(Seconds(pass->timeline->Now() - published.at).count());
}

// The parts of a frame that is sent at `time` after the origin. Parts of equal rate are due at the
// same times in all streams. The first frame of a subscription has all of them.
FrameParts FrameStream::TakeParts(SteadyTime::duration time, bool keyframe) {
  const bool first = sent_version_ == 0;
  std::array<bool, Subscription::kParts> due{};
  for (std::size_t part = 0; part < due.size(); ++part) {
    const double rate = subscription_.part_rates[part];
    const std::int64_t slot = rate > 0 ? time / FromSeconds(1 / rate) : 0;
    due[part] = first || rate == 0 || slot != part_slots_[part];
    if (due[part]) part_slots_[part] = slot;
  }
  return {.positions_since = keyframe ? 0 : sent_version_,
          .fields_since = keyframe ? 0 : fields_version_,
          .fields = due[0],
          .contacts = due[1],
          .forces = due[2],
          .joints = due[3],
          .probes = due[4]};
}

}  // namespace pliant::server
