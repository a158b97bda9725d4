#include "server/stream/world_streams.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/stream/messages.h"

namespace pliant::server {

WorldStreams::WorldStreams(const Parts& parts, std::shared_ptr<WorldHost> host)
    : parts_(parts),
      host_(std::move(host)),
      layout_(std::make_shared<const FrameLayout>(host_->model())),
      origin_(parts_.timeline->Now()),
      wanted_(SteadyTime::min()) {}

void WorldStreams::Add(std::shared_ptr<FrameStream> stream) {
  {
    std::lock_guard lock(mutex_);
    streams_.push_back(std::move(stream));
    if (streams_.size() == 1) return parts_.pool->Add(shared_from_this());
  }
  Wake();
}

void WorldStreams::Remove(const FrameStream& stream) {
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const auto& candidate) { return candidate.get() == &stream; });
  if (streams_.empty()) parts_.pool->Remove(*this);
}

void WorldStreams::Wake() {
  parts_.pool->Wake(*this);
}

void WorldStreams::OnPublish() {
  if (host_->stopping() || parts_.timeline->Now() >= wanted_.load()) Wake();
}

SteadyTime WorldStreams::Run(SteadyTime now) {
  // whatever is published from here on wakes this task
  wanted_.store(SteadyTime::min());
  std::vector<std::shared_ptr<FrameStream>> streams;
  {
    std::lock_guard lock(mutex_);
    streams = streams_;
  }
  if (host_->stopping()) {
    for (const auto& stream : streams) stream->SendEnd(this, host_->stop_reason());
    return kNever;
  }
  host_->Use(now);  // a world that is watched is not idle
  std::shared_ptr<const Published> latest = host_->latest();
  if (state_ == nullptr || state_->published().version != latest->version) {
    motions_.Add(latest);
    state_ = std::make_unique<EncodedState>(std::move(latest), layout_, parts_.counters,
                                            parts_.timeline, motions_.moved());
  }
  SteadyTime next = kNever, wanted = kNever;
  for (const auto& stream : streams)
    next = std::min(next, stream->Visit(this, now, origin_, state_.get(), &wanted));
  wanted_.store(wanted);
  return next;
}

StreamHub::StreamHub(Timeline* timeline, int threads)
    : timeline_(timeline), pool_(timeline, threads) {}

std::shared_ptr<WorldStreams> StreamHub::Of(std::shared_ptr<WorldHost> host) {
  std::lock_guard lock(mutex_);
  std::erase_if(worlds_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<WorldStreams>& known = worlds_[host.get()];
  std::shared_ptr<WorldStreams> world = known.lock();
  if (world == nullptr) {
    world =
        std::make_shared<WorldStreams>(WorldStreams::Parts{&pool_, &counters_, timeline_}, host);
    known = world;
    host->Listen(world);
  }
  return world;
}

absl::StatusOr<Subscription> StreamHub::Read(const v1::Subscription& message,
                                             std::shared_ptr<WorldHost> host) {
  Subscription subscription;
  if (!(message.rate() >= 0 && message.rate() <= Subscription::kMaxRate)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "subscription.rate: ", message.rate(), " is not allowed; expected 0 (for 60) to 1000 Hz"));
  }
  if (message.rate() > 0) subscription.rate = message.rate();
  subscription.number = message.number();
  subscription.world = Of(std::move(host));

  FrameChoice& choice = subscription.choice;
  const FrameLayout& layout = subscription.world->layout();
  if (message.bodies_size() > static_cast<int>(layout.bodies.size())) {
    return absl::InvalidArgumentError(absl::StrCat("subscription.bodies: ", message.bodies_size(),
                                                   " names; the world has ", layout.bodies.size(),
                                                   " bodies"));
  }
  for (const std::string& name : message.bodies()) {
    const auto found = layout.bodies.find(name);
    if (found == layout.bodies.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("subscription.bodies: there is no body \"", Shorten(name, 80), "\""));
    }
    choice.bodies.push_back(found->second);
  }
  for (const int number : message.fields()) {
    const auto measure = ReadMeasure(static_cast<v1::FieldMeasure>(number));
    if (!measure.ok()) return measure.status();
    if (!std::ranges::count(choice.fields, *measure)) choice.fields.push_back(*measure);
  }
  std::ranges::sort(choice.bodies);
  choice.bodies.erase(std::unique(choice.bodies.begin(), choice.bodies.end()), choice.bodies.end());
  std::ranges::sort(choice.fields);
  choice.contacts = message.contacts();
  choice.precision = message.precision();
  if (!v1::Precision_IsValid(choice.precision)) {
    return absl::InvalidArgumentError(
        absl::StrCat("subscription.precision: ", choice.precision, " is unknown; expected 0 to 2"));
  }
  return subscription;
}

std::shared_ptr<FrameStream> StreamHub::MakeStream(FrameSink* sink, Subscription subscription) {
  return std::make_shared<FrameStream>(&counters_, sink, std::move(subscription));
}

}  // namespace pliant::server
