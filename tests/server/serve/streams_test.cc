// Streams of frames over gRPC, against a real server.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <unistd.h>

#include "server/service/handlers.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using Clock = std::chrono::steady_clock;
using FrameReader = grpc::ClientReaderWriter<v1::SubscribeRequest, v1::SubscribeResponse>;

class Viewer {
 public:
  Viewer(v1::StreamService::Stub& streams, const std::string& id, double rate = 0,
         bool contacts = false)
      : stream_(streams.Subscribe(&context_)) {
    v1::SubscribeRequest request;
    request.mutable_subscription()->set_world("worlds/" + id);
    request.mutable_subscription()->set_rate(rate);
    request.mutable_subscription()->set_contacts(contacts);
    request.mutable_subscription()->add_fields(v1::FIELD_MEASURE_VON_MISES_STRAIN);
    request.mutable_subscription()->set_number(1);
    stream_->Write(request);
  }
  ~Viewer() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  std::optional<v1::Frame> Read() {
    v1::SubscribeResponse response;
    while (stream_->Read(&response)) {
      if (response.has_notice()) notice_ = response.notice();
      if (response.has_frame()) return response.frame();
    }
    return std::nullopt;
  }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }
  void Cancel() { context_.TryCancel(); }
  FrameReader& stream() { return *stream_; }
  const v1::StreamNotice& notice() const { return notice_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<FrameReader> stream_;
  v1::StreamNotice notice_;
  bool finished_ = false;
};

// Memory that a stalled viewer may use [MiB]. The address sanitizer keeps up to 256 MiB of freed
// memory, and the thread sanitizer has four bytes of shadow per byte.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kMemoryBound = 48 + 256;
#elif defined(__SANITIZE_THREAD__)
constexpr double kMemoryBound = 48 * 5;
#else
constexpr double kMemoryBound = 48;
#endif

// Resident memory of this process [MiB].
double MeasureMemory() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class Streams : public ServerTest {};

TEST_F(Streams, RealTimeViewerGetsFiftyDistinctStepsASecond) {
  ASSERT_TRUE(Create("w").ok());
  // measure the step rate of this machine under its present load: under a sanitizer it is sometimes
  // below real time
  v1::StepWorldResponse stepped;
  const auto start = Clock::now();
  ASSERT_TRUE(Step("w", 100, &stepped).ok());
  const double possible = 100 / std::chrono::duration<double>(Clock::now() - start).count();
  const double expected = std::min(50.0, possible / 4);
  if (expected < 50) {
    std::printf("this machine makes %.0f steps a second: a quarter of them is asked for\n",
                possible);
  }
  ASSERT_TRUE(RunInRealTime("w").ok());
  Viewer viewer(*streams_, "w");

  // a busy machine may miss the rate in some seconds, but not throughout a minute
  std::size_t best = 0;
  const auto end = Clock::now() + kTimeout;
  while (best < expected && Clock::now() < end) {
    std::set<std::int64_t> steps;
    const auto second = Clock::now() + std::chrono::seconds(1);
    while (Clock::now() < second) {
      const auto frame = viewer.Read();
      ASSERT_TRUE(frame.has_value());
      steps.insert(frame->step());
    }
    best = std::max(best, steps.size());
  }
  EXPECT_GE(best, expected);
}

TEST_F(Streams, FramesAreNumberedAndCarryWhatWasAskedFor) {
  ASSERT_TRUE(Create("w").ok());
  ASSERT_TRUE(RunInRealTime("w").ok());
  Viewer viewer(*streams_, "w", 100, true);
  const auto first = viewer.Read();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->frame(), 1u);
  EXPECT_TRUE(first->keyframe());
  EXPECT_EQ(first->rigid_size(), 3);
  ASSERT_EQ(first->deformables_size(), 1);
  EXPECT_EQ(first->subscription(), 1u);
  ASSERT_EQ(first->fields_size(), 1);
  EXPECT_EQ(first->fields(0).measure(), v1::FIELD_MEASURE_VON_MISES_STRAIN);
  EXPECT_EQ(first->deformables(0).positions().size(), 3 * first->fields(0).values().size());

  // once the cube touches, frames have the contact and its force
  std::uint64_t number = 1;
  std::optional<v1::Frame> frame;
  do {
    frame = viewer.Read();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->frame(), ++number);
  } while (frame->contacts().gaps_size() == 0 || frame->time() < 1);
  EXPECT_EQ(frame->contacts().gaps_size(), frame->report().contacts());
  const auto& forces = frame->forces();
  const auto cube = std::find(forces.bodies().begin(), forces.bodies().end(), 2u);
  ASSERT_NE(cube, forces.bodies().end());
  const int z = 3 * static_cast<int>(cube - forces.bodies().begin()) + 2;
  EXPECT_NEAR(forces.forces(z), 9.81, 0.05);  // its weight, at rest

  // change the subscription on the same stream
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world("worlds/w");
  request.mutable_subscription()->add_fields(v1::FIELD_MEASURE_VON_MISES_STRESS);
  request.mutable_subscription()->set_number(2);
  request.mutable_subscription()->add_bodies("ball");
  ASSERT_TRUE(viewer.stream().Write(request));
  do {
    frame = viewer.Read();
    ASSERT_TRUE(frame.has_value());
  } while (frame->subscription() != 2);
  EXPECT_TRUE(frame->keyframe());
  EXPECT_EQ(frame->rigid_size(), 0);
  ASSERT_EQ(frame->fields_size(), 1);
  EXPECT_EQ(frame->fields(0).measure(), v1::FIELD_MEASURE_VON_MISES_STRESS);
  EXPECT_EQ(frame->fields(0).unit(), "Pa");
}

TEST_F(Streams, PausedWorldSendsAKeyframeOnJoinAndThenAtMostOneASecond) {
  ASSERT_TRUE(Create("still").ok());
  Viewer viewer(*streams_, "still");
  const auto start = Clock::now();
  auto frame = viewer.Read();
  ASSERT_TRUE(frame.has_value());
  std::thread cancel([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    viewer.Cancel();
  });
  int frames = 0;
  for (; frame.has_value(); frame = viewer.Read()) {
    ++frames;
    EXPECT_TRUE(frame->keyframe());
    EXPECT_EQ(frame->step(), 0);
  }
  cancel.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_LE(frames, 2 + seconds);
}

// default maximum of the Linux socket buffers of a connection, both ends together [B]
constexpr std::size_t kSocketBuffers = 10 << 20;

TEST_F(Streams, StalledViewerDelaysNobodyAndCostsNoMemory) {
  ASSERT_TRUE(Create("w").ok());
  grpc::ClientContext context;
  v1::SetClockRequest free_run;
  free_run.set_name("worlds/w");
  free_run.mutable_free_run();
  v1::World world;
  ASSERT_TRUE(worlds_->SetClock(&context, free_run, &world).ok());
  const StreamCounters& counters = server_->handlers().stream_counters();

  // this viewer never reads: its frames are dropped once the network buffers are full
  Viewer stalled(*streams_, "w", 1000, true);
  ASSERT_TRUE(WaitUntil([&] { return counters.dropped.load() > 100; }));
  const double memory = MeasureMemory();
  const std::uint64_t dropped = counters.dropped.load();

  Viewer lively(*streams_, "w", 200, true);
  std::int64_t last = -1;
  for (int i = 0; i < 300; ++i) {
    const auto frame = lively.Read();
    ASSERT_TRUE(frame.has_value());
    ASSERT_GT(frame->step(), last);
    last = frame->step();
  }
  EXPECT_GT(counters.dropped.load(), dropped);
  EXPECT_LT(MeasureMemory() - memory, kMemoryBound);

  // when it reads again, it receives the frames in the network buffers, then the present state
  const std::int64_t now = Get("w").step();
  std::size_t under_way = 0;  // [B]
  while (true) {
    const auto frame = stalled.Read();
    ASSERT_TRUE(frame.has_value());
    if (frame->step() >= now) break;
    under_way += frame->ByteSizeLong();
    ASSERT_LT(under_way, kSocketBuffers);
  }
}

TEST_F(Streams, ViewerThatAcknowledgesHasTwoFramesUnderWay) {
  ASSERT_TRUE(Create("w").ok());
  ASSERT_TRUE(RunInRealTime("w").ok());
  Viewer viewer(*streams_, "w", 60);
  auto frame = viewer.Read();
  ASSERT_TRUE(frame.has_value());
  v1::SubscribeRequest ack;
  ack.mutable_ack()->set_frame(frame->frame());
  ASSERT_TRUE(viewer.stream().Write(ack));
  const StreamCounters& counters = server_->handlers().stream_counters();
  ASSERT_TRUE(WaitUntil([&] { return counters.acked.load() == 1; }));
  const std::uint64_t sent = counters.sent.load();

  // without further acks, two frames are sent at most
  ASSERT_TRUE(WaitUntil([&] { return counters.dropped.load() > 60; }));
  EXPECT_LE(counters.sent.load(), std::max<std::uint64_t>(sent, 3));
}

TEST_F(Streams, ClientThatSaysNothingMoreStillReceivesFrames) {
  ASSERT_TRUE(Create("w").ok());
  Viewer viewer(*streams_, "w");
  ASSERT_TRUE(viewer.stream().WritesDone());
  ASSERT_TRUE(viewer.Read().has_value());
  v1::StepWorldResponse response;
  ASSERT_TRUE(Step("w", 3, &response).ok());
  std::optional<v1::Frame> frame;
  do {
    frame = viewer.Read();
    ASSERT_TRUE(frame.has_value());
  } while (frame->step() < 3);
}

TEST_F(Streams, EndWithTheirWorld) {
  ASSERT_TRUE(Create("w").ok());
  Viewer viewer(*streams_, "w");
  ASSERT_TRUE(viewer.Read().has_value());
  ASSERT_TRUE(Delete("w").ok());
  while (viewer.Read()) {
  }
  EXPECT_TRUE(viewer.notice().final());
  EXPECT_NE(viewer.notice().reason().find("deleted"), std::string::npos)
      << viewer.notice().reason();
  EXPECT_EQ(viewer.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Streams, RefuseWhatIsNotThere) {
  Viewer nowhere(*streams_, "nowhere");
  EXPECT_FALSE(nowhere.Read().has_value());
  EXPECT_EQ(nowhere.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(Create("w").ok());
  Viewer fast(*streams_, "w", -5);
  EXPECT_FALSE(fast.Read().has_value());
  EXPECT_EQ(fast.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Streams, AndCallsEndWhenTheServerShutsDown) {
  ASSERT_TRUE(Create("w").ok());
  ASSERT_TRUE(RunInRealTime("w").ok());
  Viewer viewer(*streams_, "w");
  ASSERT_TRUE(viewer.Read().has_value());
  grpc::ClientContext idle_context;
  const auto idle = control_->Command(&idle_context);
  v1::CommandResponse response;
  ASSERT_TRUE(idle->Write(v1::CommandRequest()));
  ASSERT_TRUE(idle->Read(&response));  // the command is refused, but the call is open
  const auto start = Clock::now();
  std::thread shutdown([&] { server_->Shutdown(); });
  while (viewer.Read()) {
  }
  EXPECT_EQ(viewer.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(idle->Read(&response));
  EXPECT_EQ(idle->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  shutdown.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace pliant::server
