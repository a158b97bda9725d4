#include "server/record/recordings.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pliant/v1/stream.pb.h"
#include "server/record/file/mcap_reader.h"
#include "server/record/file/replay.h"
#include "server/record/file/topics.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/host/virtual_timeline.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A world that is recorded in virtual time, at 50 frames per simulated second.
class RecordingsTest : public testing::Test {
 protected:
  explicit RecordingsTest(const std::string& scene = kTestScene) : world_(LoadTestModel(scene)) {}

  std::shared_ptr<WorldRecording> Start(const std::string& id, std::int64_t max_bytes = 1 << 30) {
    WorldRecording::Options options;
    options.id = id;
    options.world = "worlds/w";
    options.owner = "ann";
    options.labels = {{"team", "soft"}, {"robot", ""}};
    options.start.set_model_hash(world_.model().hash);
    options.start.set_version("test");
    options.frames.emplace();
    options.rate = 50;
    options.max_bytes = max_bytes;
    auto recording = recordings_->Start(options);
    EXPECT_TRUE(recording.ok()) << recording.status();
    (*recording)->OnStart(world_.TakeSnapshot());
    return *recording;
  }

  void Step(WorldRecording& recording, int steps, bool drive = false) {
    for (int i = 0; i < steps; ++i) {
      physics::Inputs inputs;
      if (drive) {
        inputs.poses.push_back({1, {}});
        inputs.poses[0].X_WB.p = {-0.5 + 1e-3 * i, 0, 0.2};
      }
      ASSERT_TRUE(world_.Step(inputs).ok());
      ASSERT_TRUE(recording.OnStep(inputs, world_.TakeSnapshot()).ok());
      timeline_.RunFor(std::chrono::milliseconds(10));
    }
  }

  void End(WorldRecording& recording) {
    bool done = false;
    recording.End("", [&] { done = true; });
    timeline_.RunFor(std::chrono::seconds(1));
    ASSERT_TRUE(done);
  }

  absl::StatusOr<v1::ReplayResponse> Replay(const std::string& path,
                                            const std::string& scene = kTestScene) {
    ReplayOptions options;
    options.load = [&](const v1::RecordingStart&, const RecordedFiles&) {
      return LoadTestModel(scene);
    };
    return ReplayRecording(path, options);
  }

  int CountFrames(const std::string& path) {
    int frames = 0;
    EXPECT_TRUE(ReadMcap(path, [&](const McapMessage& message) {
                  frames += message.topic == kFramesTopic ? 1 : 0;
                  return absl::OkStatus();
                }).ok());
    return frames;
  }

  TemporaryFolder folder_;
  VirtualTimeline timeline_;
  physics::World world_;
  std::unique_ptr<Recordings> recordings_ =
      std::make_unique<Recordings>(folder_.File(""), &timeline_);
};

TEST_F(RecordingsTest, ReplayLeadsToEveryRecordedStateThroughResetsAndRestores) {
  Step(*Start("first"), 3);
  const auto recording = Start("second");  // begins in motion
  Step(*recording, 10, true);
  const std::string saved = world_.Save();
  Step(*recording, 5);
  world_.Reset();
  recording->OnReset(world_.TakeSnapshot());
  Step(*recording, 7, true);
  ASSERT_TRUE(world_.Restore(saved).ok());
  recording->OnRestore(world_.TakeSnapshot());
  Step(*recording, 4);
  End(*recording);
  EXPECT_EQ(recording->Describe().state(), v1::Recording::STATE_COMPLETE);
  const auto replay = Replay(recordings_->PathOf("second"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->steps(), 26);
  EXPECT_GT(replay->compared(), 10);
  EXPECT_FALSE(replay->has_mismatch()) << replay->mismatch().DebugString();
  EXPECT_TRUE(replay->is_complete());
}

constexpr char kDough[] = R"(name: dough
time_step: 0.01
grid: {cell_size: 0.05}
bodies:
  - name: dough
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      material: {model: VON_MISES, youngs_modulus: 1.0e4, poissons_ratio: 0.4, yield_stress: 1000,
          density: 1000}
)";

class ParticleRecordingsTest : public RecordingsTest {
 protected:
  ParticleRecordingsTest() : RecordingsTest(kDough) {}
};

TEST_F(ParticleRecordingsTest, FramesHaveTheParticlesAndReplayLeadsToTheirStates) {
  const auto recording = Start("dough");
  Step(*recording, 10);
  End(*recording);
  const std::string path = recordings_->PathOf("dough");
  int frames = 0;
  ASSERT_TRUE(ReadMcap(path, [&](const McapMessage& message) {
                if (message.topic != kFramesTopic) return absl::OkStatus();
                v1::Frame frame;
                EXPECT_TRUE(frame.ParseFromString(std::string(message.data)));
                EXPECT_EQ(frame.deformables_size(), 1);
                EXPECT_EQ(frame.deformables(0).positions().size(),
                          6u * physics::CountPoints(world_.model(), world_.model().bodies[0]));
                ++frames;
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(frames, 6);
  const auto replay = Replay(path, kDough);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->steps(), 10);
  EXPECT_FALSE(replay->has_mismatch()) << replay->mismatch().DebugString();
}

TEST_F(RecordingsTest, FramesComeAtTheirRateInSimulatedTime) {
  const auto recording = Start("frames");
  Step(*recording, 20);  // of 10 ms: 0.2 s at 50 Hz, and the start
  End(*recording);
  EXPECT_EQ(CountFrames(recordings_->PathOf("frames")), 11);
}

TEST_F(RecordingsTest, AStateThatDiffersIsFound) {
  const auto recording = Start("other");
  Step(*recording, 6);
  // inputs that are not recorded
  physics::Inputs inputs;
  inputs.forces.push_back({.body = 2, .force_W = {0, 0, 100}});
  ASSERT_TRUE(world_.Step(inputs).ok());
  ASSERT_TRUE(recording->OnStep({}, world_.TakeSnapshot()).ok());
  Step(*recording, 3);
  End(*recording);
  const auto replay = Replay(recordings_->PathOf("other"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  ASSERT_TRUE(replay->has_mismatch());
  EXPECT_GE(replay->mismatch().step(), 7);
  EXPECT_NE(replay->mismatch().recorded(), replay->mismatch().replayed());
}

TEST_F(RecordingsTest, AnotherSceneIsRefused) {
  const auto recording = Start("scene");
  Step(*recording, 2);
  End(*recording);
  const absl::Status status = Replay(recordings_->PathOf("scene"), kFaultyScene).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another model"));
}

TEST_F(RecordingsTest, WithoutAnEndItIsReplayedUpToItsLastChunk) {
  const auto recording = Start("cut");
  Step(*recording, 150);  // 1.5 s: a chunk is written every second
  const std::string copy = folder_.File("copy");
  fs::copy(recordings_->PathOf("cut"), copy);
  const auto replay = Replay(copy);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->is_complete());
  EXPECT_FALSE(replay->has_mismatch());
  EXPECT_GE(replay->steps(), 60);
  EXPECT_LT(replay->steps(), 150);
}

TEST_F(RecordingsTest, ItEndsAtItsLimitOfBytesAndSaysSo) {
  const auto recording = Start("small", 65536);
  for (int i = 0; i < 100 && recording->Describe().state() == v1::Recording::STATE_ACTIVE; ++i)
    Step(*recording, 20, true);
  EXPECT_EQ(recording->Describe().state(), v1::Recording::STATE_COMPLETE);
  EXPECT_THAT(recording->Describe().end_reason(), HasSubstr("limit of 65536"));
  EXPECT_FALSE(Replay(recordings_->PathOf("small"))->has_mismatch());
}

TEST_F(RecordingsTest, TheyAreListedFetchedInChunksAndDeleted) {
  const auto recording = Start("b");
  EXPECT_EQ(recordings_->Delete("b").code(), absl::StatusCode::kFailedPrecondition);
  Step(*recording, 2);
  End(*recording);
  End(*Start("a"));
  const auto list = recordings_->List();
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0].name(), "recordings/a");
  EXPECT_EQ(list[1].world(), "worlds/w");
  EXPECT_EQ(list[1].size(), static_cast<std::int64_t>(fs::file_size(recordings_->PathOf("b"))));
  std::string bytes;
  while (true) {
    const auto chunk = recordings_->Read("b", static_cast<std::int64_t>(bytes.size()), 1000);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (chunk->data().empty()) break;
    bytes += chunk->data();
  }
  EXPECT_EQ(bytes, TemporaryFolder::Read(recordings_->PathOf("b")));

  // another server finds them in the folder
  recordings_ = std::make_unique<Recordings>(folder_.File(""), &timeline_);
  EXPECT_EQ(recordings_->Describe("b")->state(), v1::Recording::STATE_COMPLETE);
  EXPECT_EQ(recordings_->Describe("b")->world(), "worlds/w");
  EXPECT_EQ(recordings_->Describe("b")->owner(), "ann");
  EXPECT_EQ(recordings_->Describe("b")->labels_size(), 2);
  EXPECT_EQ(recordings_->Describe("b")->labels().at("team"), "soft");
  EXPECT_TRUE(recordings_->Delete("b").ok());
  EXPECT_EQ(recordings_->List().size(), 1);
}

TEST_F(RecordingsTest, IdsAreCheckedAndTheirNumberIsBounded) {
  for (const char* id : {"../x", "A", "a b"}) {
    WorldRecording::Options options;
    options.id = id;
    EXPECT_EQ(recordings_->Start(options).status().code(), absl::StatusCode::kInvalidArgument)
        << id;
  }
  for (std::size_t i = 0; i < Recordings::kMaxActive; ++i) Start("");
  const auto refused = recordings_->Start({});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace pliant::server
