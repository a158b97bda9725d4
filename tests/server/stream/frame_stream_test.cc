#include "server/stream/frame_stream.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "server/stream/world_streams.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/host/virtual_timeline.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

class Idle : public StepController {
 public:
  physics::Inputs Advance(const physics::State&, SteadyTime) override { return {}; }
  void Drop(std::uint32_t /*epoch*/) override {}
  ControlStatus Describe(SteadyTime) override { return {}; }
  std::optional<SteadyTime> CalcNextChange() override { return std::nullopt; }
};

// A viewer. It takes frames, and acknowledges them if asked to.
class Recorder : public FrameSink {
 public:
  struct Sent {
    FrameHead head;
    std::shared_ptr<const std::string> body;
    v1::Frame parsed;
    SteadyTime at;
  };
  explicit Recorder(const Timeline* timeline) : timeline_(timeline) {}
  void SendFrame(const FrameHead& head, std::shared_ptr<const std::string> body) override {
    v1::Frame parsed;
    EXPECT_TRUE(parsed.ParseFromString(*body));
    sent.push_back({head, std::move(body), std::move(parsed), timeline_->Now()});
  }
  void SendEnd(const absl::Status& why) override { end = why; }
  std::vector<Sent> sent;
  std::optional<absl::Status> end;

 private:
  const Timeline* timeline_;
};

// A world of ten-millisecond steps and its viewers, in virtual time.
class FrameStreamTest : public testing::Test {
 protected:
  std::shared_ptr<FrameStream> Open(FrameSink* sink, double rate) {
    v1::Subscription request;
    request.set_rate(rate);
    auto stream = hub_.MakeStream(sink, *hub_.Read(request, host_));
    stream->Open();
    return stream;
  }
  void Step(int steps = 1) {
    host_->Step(steps, {}, [](const auto&) {});
    timeline_.RunFor(milliseconds(1));
  }
  void Run() {
    host_->SetClock({ClockMode::Kind::kRealTime, 1}, "tester", [](const auto&) {});
  }
  // Lets time pass for viewers that take each frame within a millisecond.
  void Pass(milliseconds time, const std::vector<FrameStream*>& ready) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(1)) {
      timeline_.RunFor(milliseconds(1));
      for (FrameStream* stream : ready) stream->Ready();
    }
  }

  VirtualTimeline timeline_;
  StreamHub hub_{&timeline_};
  std::shared_ptr<WorldHost> host_ = std::make_shared<WorldHost>(
      "w", physics::World(LoadTestModel()), std::make_unique<Idle>(), &timeline_);
  Recorder recorder_{&timeline_};
};

TEST_F(FrameStreamTest, SlowViewerGetsTheLatestStateNotAQueue) {
  const auto stream = Open(&recorder_, 1000);
  timeline_.RunFor(milliseconds(5));
  ASSERT_EQ(recorder_.sent.size(), 1u);
  for (int step = 0; step < 10; ++step) {
    Step();
    timeline_.RunFor(milliseconds(10));
  }
  EXPECT_EQ(recorder_.sent.size(), 1u);  // Ready was never called
  EXPECT_EQ(hub_.counters().dropped.load(), 10u);
  stream->Ready();
  timeline_.RunFor(milliseconds(1));
  ASSERT_EQ(recorder_.sent.size(), 2u);
  EXPECT_EQ(recorder_.sent[1].head.frame, 2u);
  EXPECT_EQ(recorder_.sent[1].parsed.step(), 10);
  stream->Close();
}

TEST_F(FrameStreamTest, ViewersOfEqualRateShareTheirBytesWheneverTheyJoined) {
  Recorder other(&timeline_), slow(&timeline_);
  Run();
  const auto one = Open(&recorder_, 60);
  timeline_.RunFor(milliseconds(123));
  const auto two = Open(&other, 60), three = Open(&slow, 30);
  Pass(std::chrono::seconds(2), {one.get(), two.get(), three.get()});
  const auto find = [&](std::int64_t step) -> const Recorder::Sent* {
    for (const auto& sent : recorder_.sent) {
      if (sent.parsed.step() == step) return &sent;
    }
    return nullptr;
  };
  ASSERT_GT(other.sent.size(), 100u);
  ASSERT_GT(slow.sent.size(), 50u);
  for (const Recorder* viewer : {&other, &slow}) {
    for (std::size_t i = 1; i < viewer->sent.size(); ++i) {
      const auto* same = find(viewer->sent[i].parsed.step());
      ASSERT_NE(same, nullptr);
      // the slower viewer may be sent a body that has come to rest in between
      if (viewer == &other) {
        EXPECT_EQ(viewer->sent[i].body, same->body) << "step " << same->parsed.step();
      }
    }
  }
  for (const auto& stream : {one, two, three}) stream->Close();
}

TEST_F(FrameStreamTest, BodiesAtRestAreSentWithKeyframesAlone) {
  Run();
  const auto stream = Open(&recorder_, 50);
  Pass(std::chrono::seconds(3), {stream.get()});
  ASSERT_GT(recorder_.sent.size(), 140u);
  int keyframes = 0;
  for (const auto& sent : recorder_.sent) {
    keyframes += sent.head.keyframe;
    // table and paddle rest; the cube may
    EXPECT_EQ(sent.parsed.rigid_size() == 3, sent.head.keyframe) << sent.head.frame;
  }
  EXPECT_GE(keyframes, 3);
  EXPECT_LE(keyframes, 4);
  stream->Close();
}

TEST_F(FrameStreamTest, RateIsKeptInTheMeanAndFramesLeaveWhenTheyArePublished) {
  Run();
  const auto stream = Open(&recorder_, 60);
  Pass(std::chrono::seconds(2), {stream.get()});
  EXPECT_GE(recorder_.sent.size(), 118u);
  EXPECT_LE(recorder_.sent.size(), 122u);
  // steps take no time here, so each is published when it is due, at a multiple of 10 ms
  const SteadyTime start = recorder_.sent[10].at;
  for (std::size_t i = 11; i < recorder_.sent.size(); ++i) {
    const auto since = (recorder_.sent[i].at - start) % milliseconds(10);
    EXPECT_LE(std::min<SteadyTime::duration>(since, milliseconds(10) - since),
              std::chrono::microseconds(100));
  }
  stream->Close();
}

TEST_F(FrameStreamTest, PausedWorldIsResentOnJoinAndThenOnceASecond) {
  const auto stream = Open(&recorder_, 60);
  Pass(milliseconds(3500), {stream.get()});
  ASSERT_EQ(recorder_.sent.size(), 4u);
  for (const auto& sent : recorder_.sent) EXPECT_TRUE(sent.head.keyframe);
  stream->Close();
}

TEST_F(FrameStreamTest, LastStateOfAPausedWorldIsSentThoughItCameTooEarly) {
  const auto stream = Open(&recorder_, 10);
  Pass(milliseconds(500), {stream.get()});
  Step();
  Step();
  Pass(milliseconds(150), {stream.get()});
  EXPECT_EQ(recorder_.sent.back().parsed.step(), 2);
  stream->Close();
}

TEST_F(FrameStreamTest, AfterAStallAtMostTwoStaleFramesPrecedeTheNewest) {
  Run();
  const auto stream = Open(&recorder_, 100);
  timeline_.RunFor(milliseconds(1));
  stream->Ack(1, timeline_.Now());
  Pass(std::chrono::seconds(1), {stream.get()});  // written, but not acknowledged
  EXPECT_EQ(recorder_.sent.size(), 3u);
  stream->Ack(2, timeline_.Now());
  timeline_.RunFor(milliseconds(1));
  ASSERT_EQ(recorder_.sent.size(), 4u);
  EXPECT_GE(recorder_.sent.back().parsed.time(), 0.99);
  stream->Close();
}

TEST_F(FrameStreamTest, PartsComeAtRatesOfTheirOwn) {
  Run();
  v1::Subscription request;
  request.set_rate(100);
  request.add_fields(v1::FIELD_MEASURE_CONTACT_PRESSURE);
  request.set_contacts(true);
  request.mutable_rates()->set_fields(20);
  request.mutable_rates()->set_contacts(10);
  const auto stream = hub_.MakeStream(&recorder_, *hub_.Read(request, host_));
  stream->Open();
  // while the ball moves: a field that does not change is not sent again
  Pass(milliseconds(500), {stream.get()});
  int fields = 0, contacts = 0, forces = 0;
  for (const auto& sent : recorder_.sent) {
    fields += sent.parsed.fields_size();
    contacts += sent.parsed.has_contacts();
    forces += sent.parsed.has_forces();
  }
  const int frames = static_cast<int>(recorder_.sent.size());
  EXPECT_GE(frames, 48);
  EXPECT_EQ(forces, frames);
  EXPECT_NEAR(fields, 10, 1);
  EXPECT_NEAR(contacts, 5, 1);
  EXPECT_EQ(recorder_.sent[0].parsed.fields_size(), 1);
  EXPECT_TRUE(recorder_.sent[0].parsed.has_contacts());
  stream->Close();
}

TEST_F(FrameStreamTest, FieldOfABodyThatCameToRestBetweenTwoOfItsFramesIsStillSent) {
  // the ball moves at first only, and its field is due after that
  v1::Subscription request;
  request.set_rate(100);
  request.add_bodies("ball");
  request.add_fields(v1::FIELD_MEASURE_VELOCITY);
  request.mutable_rates()->set_fields(2);
  const auto stream = hub_.MakeStream(&recorder_, *hub_.Read(request, host_));
  stream->Open();
  Pass(milliseconds(20), {stream.get()});
  Step();
  Pass(milliseconds(20), {stream.get()});
  ASSERT_EQ(recorder_.sent.back().parsed.deformables_size(), 1);
  EXPECT_EQ(recorder_.sent.back().parsed.fields_size(), 0);
  Pass(milliseconds(1500), {stream.get()});
  const double speed = recorder_.sent.back().parsed.fields(0).min();
  EXPECT_LT(speed, -0.05);  // of the fall
  stream->Close();
}

// A viewer behind a link that carries one frame at a time.
TEST_F(FrameStreamTest, BehindASlowHopFramesComeOneAtATimeAndOthersAreNotDelayed) {
  Run();
  Recorder quick(&timeline_);
  const auto slow = Open(&recorder_, 50), other = Open(&quick, 50);
  const milliseconds carriage(200);
  SteadyTime line_free = timeline_.Now();
  std::deque<std::pair<std::uint64_t, SteadyTime>> line;  // frames and their arrivals
  std::vector<milliseconds> ages;
  std::size_t taken = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    timeline_.RunFor(milliseconds(1));
    other->Ready();
    if (!quick.sent.empty()) other->Ack(quick.sent.back().head.frame, timeline_.Now());
    slow->Ready();
    for (; taken < recorder_.sent.size(); ++taken) {
      line_free = std::max(line_free, recorder_.sent[taken].at) + carriage;
      line.emplace_back(recorder_.sent[taken].head.frame, line_free);
    }
    if (!line.empty() && line.front().second <= timeline_.Now()) {
      const auto& sent = recorder_.sent[line.front().first - 1];
      ages.push_back(std::chrono::duration_cast<milliseconds>(timeline_.Now() - sent.at));
      slow->Ack(line.front().first, timeline_.Now());
      line.pop_front();
    }
  }
  // the line is in use all the time, and most frames spend no time waiting for another one
  EXPECT_GE(ages.size(), 40u);
  const auto direct = std::ranges::count_if(
      ages, [&](milliseconds age) { return age <= carriage + milliseconds(5); });
  EXPECT_GE(direct, static_cast<std::ptrdiff_t>(ages.size() / 2));
  EXPECT_GE(quick.sent.size(), 490u);
  slow->Close();
  other->Close();
}

TEST_F(FrameStreamTest, ChangedSubscriptionIsNamedByItsFrames) {
  const auto stream = Open(&recorder_, 60);
  Pass(milliseconds(20), {stream.get()});
  v1::Subscription request;
  request.set_number(7);
  request.add_bodies("cube");
  stream->Change(*hub_.Read(request, host_));
  Pass(milliseconds(20), {stream.get()});
  ASSERT_EQ(recorder_.sent.size(), 2u);
  EXPECT_EQ(recorder_.sent[1].head.subscription, 7u);
  EXPECT_TRUE(recorder_.sent[1].head.keyframe);
  EXPECT_EQ(recorder_.sent[1].parsed.rigid_size(), 1);
  stream->Close();
}

TEST_F(FrameStreamTest, SubscriptionNamesNoMoreBodiesThanThereAre) {
  v1::Subscription request;
  for (int i = 0; i < 5; ++i) request.add_bodies("cube");
  const absl::Status status = hub_.Read(request, host_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("5 names"), std::string::npos) << status;
  request.clear_bodies();
  request.add_bodies(std::string(1000, 'x'));
  EXPECT_LT(hub_.Read(request, host_).status().message().size(), 200u);
}

TEST_F(FrameStreamTest, RefusesWhatItDoesNotKnow) {
  const auto refuse = [&](const auto& change, const std::string& named) {
    v1::Subscription request;
    change(&request);
    const absl::Status status = hub_.Read(request, host_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(named), std::string::npos) << status;
  };
  refuse([](auto* r) { r->set_rate(1001); }, "1001 Hz");
  refuse([](auto* r) { r->mutable_rates()->set_probes(-1); }, "-1 Hz");
  refuse([](auto* r) { r->add_fields(static_cast<v1::FieldMeasure>(99)); }, "99");
  refuse([](auto* r) { r->set_tier(static_cast<v1::Tier>(7)); }, "tier: 7");
  refuse([](auto* r) { r->set_precision(static_cast<v1::Precision>(7)); }, "precision: 7");
  refuse([](auto* r) { r->add_probes("none"); }, "1 names; the world has 0 probes");
}

TEST_F(FrameStreamTest, EndsWithItsWorldAndIsSilentAfterwards) {
  const auto stream = Open(&recorder_, 60);
  Pass(milliseconds(10), {stream.get()});
  host_->RequestStop(absl::NotFoundError("deleted"));
  Pass(std::chrono::seconds(2), {stream.get()});
  ASSERT_TRUE(recorder_.end.has_value());
  EXPECT_EQ(recorder_.end->code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(recorder_.sent.size(), 1u);
  stream->Close();
}

TEST_F(FrameStreamTest, FrameThatIsTooLargeEndsTheStreamAndSaysWhatToDo) {
  v1::Subscription request;
  Subscription subscription = *hub_.Read(request, host_);
  subscription.max_frame = 100;
  const auto stream = hub_.MakeStream(&recorder_, std::move(subscription));
  stream->Open();
  timeline_.RunFor(milliseconds(1));
  EXPECT_TRUE(recorder_.sent.empty());
  ASSERT_TRUE(recorder_.end.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(*recorder_.end)) << *recorder_.end;
  EXPECT_NE(recorder_.end->message().find("without contacts"), std::string::npos);
  stream->Close();
}

}  // namespace
}  // namespace pliant::server
