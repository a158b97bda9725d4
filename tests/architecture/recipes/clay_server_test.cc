// The server describes, streams, exports, records and replays the body of docs/extending.md,
// "A body", like any other.

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pliant/v1/stream.pb.h"
#include "server/record/file/mcap_reader.h"
#include "server/record/file/replay.h"
#include "server/record/file/topics.h"
#include "server/record/recordings.h"
#include "server/run/exit_status.h"
#include "server/run/run.h"
#include "server/stream/frame_encoder.h"
#include "server/stream/messages.h"
#include "tests/architecture/recipes/clay_scene.h"
#include "tests/server/host/virtual_timeline.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

using physics::World;

TEST(ClayServer, ClayIsDescribedAndStreamed) {
  World world = LoadClay();
  StepTo(120, &world);
  const v1::WorldDescription description = DescribeModel("w", world.model());
  ASSERT_EQ(description.deformables_size(), 1);
  EXPECT_EQ(description.deformables(0).name(), "lump");

  const auto published = std::make_shared<Published>();
  published->snapshot = world.TakeSnapshot();
  FrameChoice choice;
  choice.fields = {v1::FIELD_MEASURE_VOLUME_RATIO};
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrame(published, choice)));
  ASSERT_EQ(frame.deformables_size(), 1);
  const std::size_t vertices = world.model().bodies[1].surface.vertices.size();
  EXPECT_EQ(frame.deformables(0).positions().size(), 6 * vertices);
  ASSERT_EQ(frame.fields_size(), 1);
  EXPECT_EQ(frame.fields(0).values().size(), 2 * vertices);
}

TEST(ClayServer, ARunExportsFieldsAndTheContactProblemOfAStep) {
  const TemporaryFolder folder;
  RunOptions options;
  options.scene = folder.Write("clay.yaml", ClayScene("convex: {}"));
  options.duration = 0.3;
  options.threads = 1;
  options.json = "-";
  options.out_folder = folder.File("out");
  options.contact_problem = folder.File("problem.json");
  options.at_step = 150;
  std::ostringstream out, err;
  ASSERT_EQ(server::Run(options, out, err), kDone) << err.str();

  const World world = LoadClay();
  const int vertices = static_cast<int>(world.model().bodies[1].mesh.vertices.size());
  const std::string last = TemporaryFolder::Read(folder.File("out/fields/frame_000015.vtu"));
  EXPECT_NE(TemporaryFolder::Read(folder.File("out/fields.pvd")).find("frame_000015.vtu"),
            std::string::npos);
  EXPECT_NE(last.find("volume"), std::string::npos);
  EXPECT_GT(last.size(), 24u * vertices);

  const auto problem = nlohmann::json::parse(TemporaryFolder::Read(options.contact_problem));
  EXPECT_GE(problem["contacts"].size(), 9u);
  const auto report = nlohmann::json::parse(out.str());
  EXPECT_EQ(report["model"]["deformables"], 1);
  EXPECT_GT(report["probes"]["force"]["value"].size(), 100u);
}

TEST(ClayServer, ARecordingReplaysToEqualBits) {
  const TemporaryFolder folder;
  VirtualTimeline timeline;
  Recordings recordings(folder.File(""), &timeline);
  World world = LoadClay();
  StepTo(90, &world);  // just before the first contact
  WorldRecording::Options options;
  options.id = "clay";
  options.world = "worlds/w";
  options.start.set_model_hash(world.model().hash);
  options.start.set_version("test");
  options.frames.emplace();
  options.rate = 100;
  options.max_bytes = 1 << 30;
  const auto recording = recordings.Start(options);
  ASSERT_TRUE(recording.ok()) << recording.status();
  (*recording)->OnStart(world.TakeSnapshot());
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE((*recording)->OnStep({}, world.TakeSnapshot()).ok());
    timeline.RunFor(std::chrono::milliseconds(10));
  }
  EXPECT_LT(*std::ranges::min_element(world.state().internals[0]), 1);
  bool done = false;
  (*recording)->End("", [&] { done = true; });
  timeline.RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(done);

  const std::string path = recordings.PathOf("clay");
  int frames = 0;
  ASSERT_TRUE(ReadMcap(path, [&](const McapMessage& message) {
                if (message.topic != kFramesTopic) return absl::OkStatus();
                v1::Frame frame;
                EXPECT_TRUE(frame.ParseFromString(std::string(message.data)));
                EXPECT_EQ(frame.deformables_size(), 1);
                ++frames;
                return absl::OkStatus();
              }).ok());
  EXPECT_GE(frames, 12);
  ReplayOptions replay_options;
  replay_options.load = [](const v1::RecordingStart&, const RecordedFiles&) {
    return physics::LoadSceneYaml(ClayScene("convex: {}"), "clay.yaml").model;
  };
  const auto replay = ReplayRecording(path, replay_options);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->steps(), 60);
  EXPECT_GT(replay->compared(), 5);
  EXPECT_FALSE(replay->has_mismatch()) << replay->mismatch().DebugString();
}

}  // namespace
}  // namespace pliant::server
