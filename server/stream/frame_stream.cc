#include "server/stream/frame_stream.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "server/stream/messages.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kHeartbeat{1};
constexpr std::chrono::seconds kCacheTime{2};
constexpr double kAckWindow = 0.5;             // [s]
constexpr std::size_t kMinFramesInFlight = 8;  // frames
constexpr std::size_t kMaxFramesInFlight = 1024;

SteadyTime::duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

}  // namespace

std::shared_ptr<const std::string> FrameCache::Encode(
    const std::shared_ptr<const Published>& published, const FrameChoice& choice, SteadyTime now) {
  std::erase_if(entries_, [now](const Entry& entry) { return now - entry.at > kCacheTime; });
  for (Entry& entry : entries_) {
    if (entry.published == published && entry.choice == choice) return entry.body;
  }

  const SteadyTime start = std::chrono::steady_clock::now();
  std::shared_ptr<const std::string> body = EncodeFrameBody(*published, choice);
  const Seconds elapsed = std::chrono::steady_clock::now() - start;
  counters_->encoded.fetch_add(1);
  counters_->encode_seconds.store(counters_->encode_seconds.load() + elapsed.count());

  // drop older states of the same model with the same choice
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.choice == choice &&
           entry.published->snapshot->model == published->snapshot->model &&
           entry.published->version < published->version;
  });
  entries_.push_back({published, choice, body, now});
  return body;
}

absl::StatusOr<Subscription> ReadSubscription(const v1::Subscription& message,
                                              std::shared_ptr<WorldHost> host) {
  Subscription subscription;
  if (!(message.rate() >= 0 && message.rate() <= Subscription::kMaxRate)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "subscription.rate: ", message.rate(), " is not allowed; expected 0 (for 60) to 1000 Hz"));
  }
  if (message.rate() > 0) subscription.rate = message.rate();
  for (const std::string& name : message.bodies()) {
    if (physics::FindBody(host->model(), name) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("subscription.bodies: there is no body \"", name.substr(0, 80), "\""));
    }
    subscription.choice.bodies.push_back(name);
  }
  std::sort(subscription.choice.bodies.begin(), subscription.choice.bodies.end());
  const absl::StatusOr<physics::FieldMeasure> measure = ReadMeasure(message.measure());
  if (!measure.ok()) return measure.status();
  subscription.choice.measure = *measure;
  subscription.choice.contacts = message.contacts();
  subscription.host = std::move(host);
  return subscription;
}

FrameStream::FrameStream(Pump* pump, FrameCache* cache, StreamCounters* counters, FrameSink* sink,
                         Subscription subscription)
    : pump_(pump),
      cache_(cache),
      counters_(counters),
      sink_(sink),
      subscription_(std::move(subscription)) {
  counters_->open.fetch_add(1);
}

FrameStream::~FrameStream() {
  counters_->open.fetch_sub(1);
}

void FrameStream::Open() {
  pump_->Add(shared_from_this());
}

void FrameStream::Change(Subscription subscription) {
  {
    std::lock_guard lock(mutex_);
    subscription_ = std::move(subscription);
    sent_version_ = 0;
  }
  pump_->Wake();
}

void FrameStream::Ready() {
  ready_.store(true);
  pump_->Wake();
}

void FrameStream::Ack(std::uint64_t frame) {
  const SteadyTime now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
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
  pump_->Wake();
}

void FrameStream::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  pump_->Remove(shared_from_this());
}

SteadyTime FrameStream::Visit(SteadyTime now) {
  constexpr SteadyTime kNever = SteadyTime::max();
  std::lock_guard lock(mutex_);
  if (closed_) return kNever;
  WorldHost& host = *subscription_.host;
  if (host.stopping()) {
    closed_ = true;
    sink_->SendEnd(host.stop_reason());
    return kNever;
  }

  const std::shared_ptr<const Published> published = host.latest();
  const bool first = sent_version_ == 0;
  const bool fresh = published->version != sent_version_;
  const bool heartbeat = !first && now >= last_sent_ + kHeartbeat;
  if (!fresh && !heartbeat) return last_sent_ + kHeartbeat;
  if (fresh && !first && !heartbeat && now < next_due_) return next_due_;

  // due, but the viewer is not ready: send nothing now, and the latest state later
  const std::size_t window = std::max(
      kMinFramesInFlight, static_cast<std::size_t>(std::ceil(kAckWindow * subscription_.rate)));
  const bool room = !acknowledges_ || under_way_.size() < window || heartbeat;
  if (!ready_.load() || !room) {
    if (fresh && published->version != missed_version_) {
      missed_version_ = published->version;
      counters_->dropped.fetch_add(1);
    }
    return last_sent_ + kHeartbeat > now ? last_sent_ + kHeartbeat : kNever;
  }

  std::shared_ptr<const std::string> body = cache_->Encode(published, subscription_.choice, now);
  const bool keyframe = first || now >= last_keyframe_ + kHeartbeat;
  ready_.store(false);
  sent_version_ = published->version;
  last_sent_ = now;
  if (keyframe) last_keyframe_ = now;
  const auto interval = FromSeconds(1 / subscription_.rate);
  // keep the mean rate when steps and frames do not align, without catching up after a pause
  next_due_ = now - next_due_ < interval ? next_due_ + interval : now + interval;
  under_way_.emplace_back(++frame_, now);
  if (under_way_.size() > kMaxFramesInFlight) under_way_.pop_front();
  counters_->sent.fetch_add(1);
  sink_->SendFrame(std::move(body), frame_, keyframe);
  return last_sent_ + kHeartbeat;
}

}  // namespace pliant::server
