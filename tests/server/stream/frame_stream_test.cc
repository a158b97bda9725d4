#include "server/stream/frame_stream.h"

#include <map>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

class Idle : public StepController {
 public:
  physics::Inputs Advance(const physics::State&, SteadyTime) override { return {}; }
  void Drop() override {}
  ControlStatus Describe(SteadyTime) override { return {}; }
  std::optional<SteadyTime> CalcNextChange() override { return std::nullopt; }
};

class Recorder : public FrameSink {
 public:
  struct Sent {
    std::shared_ptr<const std::string> body;
    std::uint64_t frame;
    bool keyframe;
    v1::Frame parsed;
  };
  void SendFrame(std::shared_ptr<const std::string> body, std::uint64_t frame,
                 bool keyframe) override {
    v1::Frame parsed;
    EXPECT_TRUE(parsed.ParseFromString(*body));
    sent.push_back({std::move(body), frame, keyframe, std::move(parsed)});
  }
  void SendEnd(const absl::Status& why) override { end = why; }
  std::vector<Sent> sent;
  std::optional<absl::Status> end;
};

// Streams on a paused world; the test steps the world and visits the streams at times it chooses.
class FrameStreamTest : public testing::Test {
 protected:
  std::shared_ptr<FrameStream> Open(FrameSink* sink, double rate) {
    Subscription subscription;
    subscription.host = host_;
    subscription.rate = rate;
    return std::make_shared<FrameStream>(&pump_, &cache_, &counters_, sink, subscription);
  }
  void Step() {
    const std::int64_t before = host_->latest()->snapshot->state.step;
    host_->Step(1, {}, [](const auto&) {});
    while (host_->latest()->snapshot->state.step == before) std::this_thread::yield();
  }

  Pump pump_;
  StreamCounters counters_;
  FrameCache cache_{&counters_};
  std::shared_ptr<WorldHost> host_ = std::make_shared<WorldHost>(
      "w", physics::World(LoadTestModel()), std::make_unique<Idle>(), [] {});
  SteadyTime now_ = std::chrono::steady_clock::now();
  Recorder recorder_;
};

TEST_F(FrameStreamTest, SlowViewerGetsTheLatestStateNotAQueue) {
  const auto stream = Open(&recorder_, 1000);
  stream->Visit(now_);
  ASSERT_EQ(recorder_.sent.size(), 1u);
  for (int step = 0; step < 10; ++step) {
    Step();
    stream->Visit(now_ += milliseconds(10));
  }
  EXPECT_EQ(recorder_.sent.size(), 1u);  // Ready was never called
  EXPECT_EQ(counters_.dropped.load(), 10u);
  stream->Ready();
  stream->Visit(now_);
  ASSERT_EQ(recorder_.sent.size(), 2u);
  EXPECT_EQ(recorder_.sent[1].frame, 2u);
  EXPECT_EQ(recorder_.sent[1].parsed.step(), 10);
}

TEST_F(FrameStreamTest, ViewersOfOneStateShareItsBytes) {
  Recorder other;
  const auto one = Open(&recorder_, 60), two = Open(&other, 30);
  one->Visit(now_);
  two->Visit(now_);
  ASSERT_EQ(recorder_.sent.size(), 1u);
  ASSERT_EQ(other.sent.size(), 1u);
  EXPECT_EQ(recorder_.sent[0].body, other.sent[0].body);
  EXPECT_EQ(counters_.encoded.load(), 1u);
}

TEST_F(FrameStreamTest, RateIsKeptInTheMeanWhenStepsDoNotAlignWithIt) {
  const auto stream = Open(&recorder_, 60);
  stream->Visit(now_);
  for (int step = 0; step < 100;
       ++step) {  // 1 s of 10 ms steps, visited when one is published and at the requested times
    Step();
    stream->Ready();
    const SteadyTime next = stream->Visit(now_);
    const SteadyTime end = now_ + milliseconds(10);
    if (next < end) {
      stream->Ready();
      stream->Visit(next);
    }
    now_ = end;
  }
  EXPECT_GE(recorder_.sent.size(), 58u);
  EXPECT_LE(recorder_.sent.size(), 62u);
}

TEST_F(FrameStreamTest, StandingWorldIsToldOnJoinAndThenOnceASecond) {
  const auto stream = Open(&recorder_, 60);
  for (int tick = 0; tick < 350; ++tick) {  // 3.5 s
    stream->Visit(now_);
    stream->Ready();
    now_ += milliseconds(10);
  }
  ASSERT_EQ(recorder_.sent.size(), 4u);
  for (const auto& sent : recorder_.sent) EXPECT_TRUE(sent.keyframe);
}

TEST_F(FrameStreamTest, AcknowledgingViewerIsHeldToHalfASecond) {
  const auto stream = Open(&recorder_, 100);
  stream->Visit(now_);
  stream->Ack(1);
  for (int step = 0; step < 90; ++step) {
    Step();
    stream->Ready();
    stream->Visit(now_ += milliseconds(10));
  }
  EXPECT_EQ(recorder_.sent.size(), 51u);
  stream->Ack(51);
  Step();
  stream->Ready();
  stream->Visit(now_ += milliseconds(10));
  EXPECT_EQ(recorder_.sent.size(), 52u);
  EXPECT_EQ(recorder_.sent.back().parsed.step(), 91);
}

TEST_F(FrameStreamTest, EndsWithItsWorldAndIsSilentAfterwards) {
  const auto stream = Open(&recorder_, 60);
  stream->Visit(now_);
  host_->RequestStop(absl::NotFoundError("deleted"));
  stream->Ready();
  stream->Visit(now_ += milliseconds(20));
  ASSERT_TRUE(recorder_.end.has_value());
  EXPECT_EQ(recorder_.end->code(), absl::StatusCode::kNotFound);
  stream->Visit(now_ += std::chrono::seconds(2));
  EXPECT_EQ(recorder_.sent.size(), 1u);
}

}  // namespace
}  // namespace pliant::server
