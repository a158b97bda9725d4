#include "server/stream/world_streams.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/stream/fields.h"

namespace pliant::server {
namespace {

absl::Status CheckRate(double rate) {
  if (rate >= 0 && rate <= Subscription::kMaxRate) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("subscription: a rate of ", rate,
                                                 " Hz is not allowed; expected 0 to ",
                                                 Subscription::kMaxRate));
}

// Indices of the objects that a subscription names, ascending. `what`: e.g. "body".
template <typename Names>
absl::StatusOr<std::vector<int>> FindAll(const Names& names,
                                         const absl::flat_hash_map<std::string, int>& known,
                                         const char* field, const char* what) {
  if (names.size() > static_cast<int>(known.size())) {
    return absl::InvalidArgumentError(absl::StrCat("subscription.", field, ": ", names.size(),
                                                   " names; the world has ", known.size(), " ",
                                                   field));
  }
  std::vector<int> indices;
  for (const std::string& name : names) {
    const auto found = known.find(name);
    if (found == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("subscription.", field, ": there is no ", what,
                                                     " \"", Shorten(name, 80), "\""));
    }
    indices.push_back(found->second);
  }
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

absl::StatusOr<FrameChoice> ReadChoice(const v1::Subscription& message, const FrameLayout& layout) {
  FrameChoice choice;
  absl::StatusOr<std::vector<int>> bodies =
      FindAll(message.bodies(), layout.bodies, "bodies", "body");
  if (!bodies.ok()) return bodies.status();
  choice.bodies = *std::move(bodies);
  absl::StatusOr<std::vector<int>> probes =
      FindAll(message.probes(), layout.probes, "probes", "probe");
  if (!probes.ok()) return probes.status();
  choice.probes = *std::move(probes);
  for (const int number : message.fields()) {
    const absl::StatusOr<v1::FieldMeasure> measure = CheckMeasure(number);
    if (!measure.ok()) return measure.status();
    if (!std::ranges::count(choice.fields, *measure)) choice.fields.push_back(*measure);
  }
  std::ranges::sort(choice.fields);
  choice.contacts = message.contacts();
  choice.precision = message.precision();
  choice.tier = message.tier();
  if (!v1::Precision_IsValid(choice.precision)) {
    return absl::InvalidArgumentError(absl::StrCat("subscription.precision: ", choice.precision,
                                                   " is unknown; expected 0 to ",
                                                   v1::Precision_MAX));
  }
  if (!v1::Tier_IsValid(choice.tier)) {
    return absl::InvalidArgumentError(absl::StrCat("subscription.tier: ", choice.tier,
                                                   " is unknown; expected 0 to ", v1::Tier_MAX));
  }
  return choice;
}

}  // namespace

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

int WorldStreams::CountStreams() {
  std::lock_guard lock(mutex_);
  return static_cast<int>(streams_.size());
}

void WorldStreams::OnPublish() {
  if (host_->stopping() || parts_.timeline->Now() >= wanted_.load()) Wake();
}

SteadyTime WorldStreams::Run(SteadyTime now) {
  // from here on, every publication wakes this task
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
                                            parts_.timeline, motions_.changes());
  }
  SteadyTime next = kNever;
  StreamPass pass{this, parts_.timeline, now, origin_, state_.get()};
  for (const auto& stream : streams) next = std::min(next, stream->Visit(&pass));
  wanted_.store(pass.wanted);
  return next;
}

StreamHub::StreamHub(Timeline* timeline, int threads)
    : timeline_(timeline), pool_(timeline, threads, {"frames", true}) {}

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
  const v1::PartRates& parts = message.rates();
  subscription.part_rates = {parts.fields(), parts.contacts(), parts.forces(), parts.joints(),
                             parts.probes()};
  for (const double rate : {message.rate(), parts.fields(), parts.contacts(), parts.forces(),
                            parts.joints(), parts.probes()}) {
    if (absl::Status status = CheckRate(rate); !status.ok()) return status;
  }
  if (message.rate() > 0) subscription.rate = message.rate();
  subscription.number = message.number();
  subscription.world = Of(std::move(host));
  absl::StatusOr<FrameChoice> choice = ReadChoice(message, *subscription.world->layout());
  if (!choice.ok()) return choice.status();
  subscription.choice = *std::move(choice);
  return subscription;
}

int StreamHub::CountStreams(const WorldHost& host) {
  std::shared_ptr<WorldStreams> world;
  {
    std::lock_guard lock(mutex_);
    const auto known = worlds_.find(&host);
    if (known != worlds_.end()) world = known->second.lock();
  }
  return world == nullptr ? 0 : world->CountStreams();
}

std::shared_ptr<FrameStream> StreamHub::MakeStream(FrameSink* sink, Subscription subscription) {
  return std::make_shared<FrameStream>(&counters_, sink, std::move(subscription));
}

}  // namespace pliant::server
