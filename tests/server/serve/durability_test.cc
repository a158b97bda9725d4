// Acknowledged changes survive kill -9, a full disk and damaged files.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "pliant/v1/control.grpc.pb.h"
#include "pliant/v1/record.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/run/temporary_folder.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

std::string Hash(const v1::World& world) {
  return world.state_hash();
}

// A server process on a data folder, and calls to it.
class Durability : public testing::Test {
 protected:
  void Start(int max_file_bytes = 0, const std::string& interval = "0.2",
             const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words = {"serve",  "--grpc-port", "0",   "--http-port",
                                      "0",      "--data-dir",  data_, "--checkpoint-interval",
                                      interval, "--threads",   "1"};
    words.insert(words.end(), flags.begin(), flags.end());
    program_ = std::make_unique<Program>(words, temporary_.File("stderr"), max_file_bytes);
    const auto ports = ParseReady(program_->ReadLine());
    ASSERT_TRUE(ports.has_value()) << Errors();
    const auto channel = Connect("127.0.0.1:" + ports->first);
    worlds_ = v1::WorldService::NewStub(channel);
    control_ = v1::ControlService::NewStub(channel);
    records_ = v1::RecordService::NewStub(channel);
  }
  void Kill() {
    program_->Signal(SIGKILL);
    EXPECT_EQ(program_->Wait(), -1);
  }
  std::string Errors() const { return TemporaryFolder::Read(temporary_.File("stderr")); }

  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    return (stub.*method)(&context, request, response);
  }

  grpc::Status Create(const std::string& id, bool durable, v1::World* world) {
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(kTestScene);
    request.set_durable(durable);
    (*request.mutable_labels())["team"] = "grasp";
    return Call(*worlds_, &Worlds::CreateWorld, request, world);
  }
  // Pushes the paddle along unless asked otherwise, so that the log has inputs.
  grpc::Status Step(const std::string& id, int steps, v1::StepWorldResponse* response,
                    bool drive = true) {
    v1::StepWorldRequest request;
    request.set_name("worlds/" + id);
    request.set_steps(steps);
    if (!drive) return Call(*worlds_, &Worlds::StepWorld, request, response);
    v1::TargetCommand* command = request.add_commands();
    command->set_target("paddle");
    for (const double v : {0.3, 0.0, 0.0}) command->mutable_twist()->add_linear(v);
    return Call(*worlds_, &Worlds::StepWorld, request, response);
  }
  v1::World Get(const std::string& id) {
    v1::GetWorldRequest request;
    request.set_name("worlds/" + id);
    v1::World world;
    const grpc::Status status = Call(*worlds_, &Worlds::GetWorld, request, &world);
    EXPECT_TRUE(status.ok()) << status.error_message() << Errors();
    return world;
  }

  using Worlds = v1::WorldService::StubInterface;
  using Records = v1::RecordService::StubInterface;
  TemporaryFolder temporary_;
  const std::string data_ = temporary_.File("data");
  std::unique_ptr<Program> program_;
  std::unique_ptr<v1::WorldService::StubInterface> worlds_;
  std::unique_ptr<v1::ControlService::StubInterface> control_;
  std::unique_ptr<v1::RecordService::StubInterface> records_;
};

TEST_F(Durability, KilledServerComesBackWithEveryDurableWorldAsLastAcknowledged) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  EXPECT_TRUE(world.durable());
  ASSERT_TRUE(Create("fresh", true, &world).ok());
  const std::string fresh = Hash(world);
  ASSERT_TRUE(Create("lost", false, &world).ok());
  EXPECT_FALSE(world.durable());
  v1::StepWorldResponse last;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Step("kept", 3, &last).ok());
  Kill();

  ASSERT_NO_FATAL_FAILURE(Start());
  world = Get("kept");
  EXPECT_EQ(world.step(), 60);
  EXPECT_EQ(Hash(world), last.state_hash());
  EXPECT_TRUE(world.clock().has_paused());
  EXPECT_TRUE(world.durable());
  EXPECT_EQ(world.labels().at("team"), "grasp");
  EXPECT_EQ(Hash(Get("fresh")), fresh);
  v1::ListWorldsResponse list;
  ASSERT_TRUE(Call(*worlds_, &Worlds::ListWorlds, v1::ListWorldsRequest(), &list).ok());
  EXPECT_EQ(list.worlds_size(), 2);

  // it continues from there, and a reset and a fork are kept, too
  ASSERT_TRUE(Step("kept", 1, &last).ok());
  v1::ForkWorldRequest fork;
  fork.set_name("worlds/kept");
  fork.set_world_id("fork");
  ASSERT_TRUE(Call(*worlds_, &Worlds::ForkWorld, fork, &world).ok());
  v1::ResetWorldRequest reset;
  reset.set_name("worlds/kept");
  ASSERT_TRUE(Call(*worlds_, &Worlds::ResetWorld, reset, &world).ok());
  v1::DeleteWorldRequest remove;
  remove.set_name("worlds/fresh");
  google::protobuf::Empty empty;
  ASSERT_TRUE(Call(*worlds_, &Worlds::DeleteWorld, remove, &empty).ok());
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(Hash(Get("fork")), last.state_hash());
  EXPECT_EQ(Hash(Get("kept")), fresh);
  list.Clear();
  ASSERT_TRUE(Call(*worlds_, &Worlds::ListWorlds, v1::ListWorldsRequest(), &list).ok());
  EXPECT_EQ(list.worlds_size(), 2);
}

// The server is killed at any moment: while commands are acknowledged, while checkpoints are
// written every 0.1 s and on request.
TEST_F(Durability, KilledInTheMiddleNothingAcknowledgedIsLost) {
  ASSERT_NO_FATAL_FAILURE(Start(0, "0.1"));
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  std::int64_t before = 0;
  for (int round = 0; round < 4; ++round) {
    std::atomic<bool> killed{false};
    std::thread saver([&] {
      for (int i = 0; !killed.load(); ++i) {
        v1::CheckpointWorldRequest request;
        request.set_name("worlds/kept");
        request.set_checkpoint_id("c" + std::to_string(round) + "-" + std::to_string(i));
        v1::CheckpointWorldResponse response;
        Call(*worlds_, &Worlds::CheckpointWorld, request, &response);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    v1::StepWorldResponse last;
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300 + 70 * round));
      killed.store(true);
      program_->Signal(SIGKILL);
    });
    v1::StepWorldResponse next;
    while (Step("kept", 1, &next, false).ok()) last = next;
    killer.join();
    saver.join();
    EXPECT_EQ(program_->Wait(), -1);
    ASSERT_GT(last.step(), before);

    // one step may have been made and written without an answer
    ASSERT_NO_FATAL_FAILURE(Start(0, "0.1"));
    world = Get("kept");
    EXPECT_THAT(world.step(), AnyOf(Eq(last.step()), Eq(last.step() + 1)));
    if (world.step() == last.step()) {
      EXPECT_EQ(Hash(world), last.state_hash());
    }
    before = world.step();
  }
  // the same steps without a crash lead to the same state
  physics::World reference(LoadTestModel());
  for (std::int64_t i = 0; i < before; ++i) ASSERT_TRUE(reference.Step().ok());
  EXPECT_EQ(Hash(world), physics::HashState(reference.state()));
}

TEST_F(Durability, TheStepThatAppliedACommandSurvivesAKill) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::SetClockRequest clock;
  clock.set_name("worlds/kept");
  clock.mutable_real_time();
  ASSERT_TRUE(Call(*worlds_, &Worlds::SetClock, clock, &world).ok());
  v1::AcquireLeaseRequest acquire;
  acquire.set_world("worlds/kept");
  acquire.set_target("paddle");
  v1::Lease lease;
  ASSERT_TRUE(
      Call(*control_, &v1::ControlService::StubInterface::AcquireLease, acquire, &lease).ok());
  grpc::ClientContext context;
  const auto stream = control_->Command(&context);
  std::int64_t applied = 0;
  for (int i = 1; i <= 30; ++i) {
    v1::CommandRequest command;
    command.set_world("worlds/kept");
    command.set_lease_id(lease.lease_id());
    command.set_sequence(i);
    for (const double v : {0.1, 0.0, 0.0}) command.mutable_twist()->add_linear(v);
    ASSERT_TRUE(stream->Write(command));
    v1::CommandResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.refused(), "");
    applied = std::max(applied, response.applied_step());
  }
  Kill();
  context.TryCancel();
  stream->Finish();
  EXPECT_GT(applied, 0);
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_GE(Get("kept").step(), applied);
}

// Commands stream in while the world is stepped; the server is killed between two steps, with
// commands that no step has used.
TEST_F(Durability, KilledWithCommandsInFlightTheStateIsTheOneLastAcknowledged) {
  v1::World world;
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(Start());
    if (round == 0) {
      ASSERT_TRUE(Create("kept", true, &world).ok());
    }
    v1::AcquireLeaseRequest acquire;
    acquire.set_world("worlds/kept");
    acquire.set_target("paddle");
    v1::Lease lease;
    ASSERT_TRUE(
        Call(*control_, &v1::ControlService::StubInterface::AcquireLease, acquire, &lease).ok());
    grpc::ClientContext context;
    const auto stream = control_->Command(&context);
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> applied{0};
    std::thread reader([&] {
      v1::CommandResponse response;
      while (stream->Read(&response)) {
        EXPECT_EQ(response.refused(), "");
        applied.store(std::max(applied.load(), response.applied_step()));
      }
    });
    std::thread commander([&] {
      v1::CommandRequest command;
      command.set_world("worlds/kept");
      command.set_lease_id(lease.lease_id());
      for (const double v : {0.1, 0.0, 0.0}) command.mutable_twist()->add_linear(v);
      for (int i = 1; !over.load(); ++i) {
        command.set_sequence(i);
        command.mutable_twist()->set_linear(1, 0.001 * (i % 50));
        if (!stream->Write(command)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    // until steps have used commands, and a little further
    v1::StepWorldResponse last;
    const auto end = std::chrono::steady_clock::now() + kProgramTimeout;
    bool stepped = true;
    for (int more = 10; stepped && more > 0 && std::chrono::steady_clock::now() < end;) {
      stepped = Step("kept", 1, &last, false).ok();
      if (applied.load() > 0) --more;
    }
    EXPECT_TRUE(stepped);
    Kill();
    over.store(true);
    context.TryCancel();
    commander.join();
    reader.join();
    stream->Finish();
    EXPECT_GT(applied.load(), 0);
    ASSERT_NO_FATAL_FAILURE(Start());
    world = Get("kept");
    EXPECT_EQ(world.step(), last.step());
    EXPECT_EQ(Hash(world), last.state_hash());
    Kill();
  }
}

TEST_F(Durability, StopTakesACheckpointSoThatNothingIsReplayed) {
  ASSERT_NO_FATAL_FAILURE(Start(0, "1000"));
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::StepWorldResponse last;
  ASSERT_TRUE(Step("kept", 10, &last).ok());
  program_->Signal(SIGTERM);
  EXPECT_EQ(program_->Wait(), 0) << Errors();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_THAT(Errors(), HasSubstr("step=10 replayed=0"));
  EXPECT_EQ(Hash(Get("kept")), last.state_hash());
}

// A limit on the size of files simulates a full disk.
TEST_F(Durability, AFullDiskPausesTheWorldAndNamesTheFile) {
  constexpr int kLimit = 48 << 10;
  ASSERT_NO_FATAL_FAILURE(Start(kLimit, "1000"));
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok()) << Errors();
  ASSERT_TRUE(Create("other", false, &world).ok());
  v1::StepWorldResponse last, next;
  grpc::Status status;
  for (int i = 0; i < 50 && status.ok(); ++i) {
    status = Step("kept", 300, &next);
    if (status.ok()) last = next;
  }
  EXPECT_THAT(status.error_message(), HasSubstr("/log-"));
  EXPECT_THAT(status.error_message(), HasSubstr("ulimit"));
  EXPECT_TRUE(Step("other", 5, &next).ok());

  // a checkpoint fits, so that the world continues with another log as soon as that is written
  for (int i = 0; i < 100; ++i) {
    status = Step("kept", 1, &last);
    if (status.ok()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  world = Get("kept");
  EXPECT_EQ(world.step(), last.step());
  EXPECT_EQ(Hash(world), last.state_hash());
}

TEST_F(Durability, AWorldThatCannotBeReadIsKeptAndNamedAndTheOthersComeBack) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("good", true, &world).ok());
  ASSERT_TRUE(Create("bad", true, &world).ok());
  Kill();
  const std::string checkpoint = data_ + "/worlds/bad.2/auto-1.checkpoint";
  ASSERT_TRUE(fs::exists(checkpoint));
  std::fstream(checkpoint, std::ios::in | std::ios::out | std::ios::binary).seekp(8).put(0);
  ASSERT_NO_FATAL_FAILURE(Start());
  Get("good");
  v1::GetWorldRequest get;
  get.set_name("worlds/bad");
  const grpc::Status status = Call(*worlds_, &Worlds::GetWorld, get, &world);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("auto-1.checkpoint"));
  EXPECT_THAT(status.error_message(), HasSubstr("version 0"));
  EXPECT_EQ(Create("bad", true, &world).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(fs::exists(checkpoint));
}

TEST_F(Durability, ACheckpointThatIsDeletedWhileItIsFetchedIsFetchedToItsEnd) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::CheckpointWorldRequest save;
  save.set_name("worlds/kept");
  save.set_checkpoint_id("gone");
  v1::CheckpointWorldResponse saved;
  ASSERT_TRUE(Call(*worlds_, &Worlds::CheckpointWorld, save, &saved).ok());
  v1::FetchCheckpointRequest fetch;
  fetch.set_name(saved.checkpoint().name());
  fetch.set_max_bytes(100);
  v1::FetchCheckpointResponse chunk;
  ASSERT_TRUE(Call(*worlds_, &Worlds::FetchCheckpoint, fetch, &chunk).ok());
  std::string state = chunk.data();
  v1::DeleteCheckpointRequest remove;
  remove.set_name(saved.checkpoint().name());
  google::protobuf::Empty empty;
  ASSERT_TRUE(Call(*worlds_, &Worlds::DeleteCheckpoint, remove, &empty).ok());
  while (static_cast<std::int64_t>(state.size()) < chunk.size()) {
    fetch.set_handle(chunk.handle());
    fetch.set_offset(static_cast<std::int64_t>(state.size()));
    ASSERT_TRUE(Call(*worlds_, &Worlds::FetchCheckpoint, fetch, &chunk).ok());
    ASSERT_NE(chunk.data(), "");
    state += chunk.data();
  }
  v1::RestoreWorldRequest restore;
  restore.set_name("worlds/kept");
  restore.set_state(state);
  ASSERT_TRUE(Call(*worlds_, &Worlds::RestoreWorld, restore, &world).ok());
  EXPECT_EQ(Hash(world), saved.state_hash());

  // an invented handle is refused
  fetch.set_handle("1-0000000000000000");
  const grpc::Status unknown = Call(*worlds_, &Worlds::FetchCheckpoint, fetch, &chunk);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("handle"));
}

TEST_F(Durability, AsManyAutomaticCheckpointsAreKeptAsTheFlagSays) {
  ASSERT_NO_FATAL_FAILURE(Start(0, "0.1", {"--keep-checkpoints", "3"}));
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::ListCheckpointsRequest request;
  request.set_world("worlds/kept");
  v1::ListCheckpointsResponse list;
  v1::StepWorldResponse step;
  const auto end = std::chrono::steady_clock::now() + kProgramTimeout;
  do {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    ASSERT_TRUE(Step("kept", 1, &step).ok());
    ASSERT_TRUE(Call(*worlds_, &Worlds::ListCheckpoints, request, &list).ok());
    // one more while the newest one is there and the oldest one not yet removed
    ASSERT_LE(list.checkpoints_size(), 4);
  } while (list.checkpoints_size() < 3 || list.checkpoints(0).name().ends_with("auto-1"));
  for (const v1::Checkpoint& checkpoint : list.checkpoints()) EXPECT_TRUE(checkpoint.automatic());
}

TEST_F(Durability, NamedCheckpointsAreFetchedInChunksAndPutBack) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::StepWorldResponse at;
  ASSERT_TRUE(Step("kept", 5, &at).ok());
  v1::CheckpointWorldRequest save;
  save.set_name("worlds/kept");
  save.set_checkpoint_id("five");
  v1::CheckpointWorldResponse saved;
  ASSERT_TRUE(Call(*worlds_, &Worlds::CheckpointWorld, save, &saved).ok());
  EXPECT_EQ(saved.state_hash(), at.state_hash());
  v1::StepWorldResponse later;
  ASSERT_TRUE(Step("kept", 5, &later).ok());

  // a kill does not touch it
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  // with the handle of the first chunk, or without
  std::string state;
  for (const bool with_handle : {true, false}) {
    state.clear();
    v1::FetchCheckpointResponse chunk;
    v1::FetchCheckpointRequest fetch;
    fetch.set_name(saved.checkpoint().name());
    fetch.set_max_bytes(100);
    do {
      fetch.set_offset(static_cast<std::int64_t>(state.size()));
      ASSERT_TRUE(Call(*worlds_, &Worlds::FetchCheckpoint, fetch, &chunk).ok());
      EXPECT_LE(chunk.data().size(), 100);
      EXPECT_NE(chunk.handle(), "");
      if (with_handle) fetch.set_handle(chunk.handle());
      state += chunk.data();
    } while (!chunk.data().empty());
    EXPECT_EQ(static_cast<std::int64_t>(state.size()), chunk.size());
  }
  v1::RestoreWorldRequest restore;
  restore.set_name("worlds/kept");
  restore.set_state(state);
  ASSERT_TRUE(Call(*worlds_, &Worlds::RestoreWorld, restore, &world).ok());
  EXPECT_EQ(Hash(world), at.state_hash());
  ASSERT_TRUE(Step("kept", 1, &later).ok());
  restore.clear_state();
  restore.set_checkpoint(saved.checkpoint().name());
  ASSERT_TRUE(Call(*worlds_, &Worlds::RestoreWorld, restore, &world).ok());
  EXPECT_EQ(Hash(world), at.state_hash());

  // the restored state survives, too
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(Hash(Get("kept")), at.state_hash());
  v1::ListCheckpointsRequest list;
  list.set_world("worlds/kept");
  v1::ListCheckpointsResponse checkpoints;
  ASSERT_TRUE(Call(*worlds_, &Worlds::ListCheckpoints, list, &checkpoints).ok());
  int named = 0;
  for (const v1::Checkpoint& checkpoint : checkpoints.checkpoints())
    named += checkpoint.automatic() ? 0 : 1;
  EXPECT_EQ(named, 1);
}

// The server is killed while it records; what it recorded up to then is readable and exact.
TEST_F(Durability, ARecordingSurvivesAKillUpToItsLastChunk) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("kept", true, &world).ok());
  v1::StartRecordingRequest start;
  start.set_world("worlds/kept");
  start.set_recording_id("cut");
  start.mutable_frames()->set_rate(50);
  v1::Recording recording;
  ASSERT_TRUE(Call(*records_, &Records::StartRecording, start, &recording).ok());
  EXPECT_EQ(recording.state(), v1::Recording::STATE_ACTIVE);
  v1::StepWorldResponse step;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < end) ASSERT_TRUE(Step("kept", 1, &step).ok());
  Kill();

  ASSERT_NO_FATAL_FAILURE(Start());
  v1::ListRecordingsResponse list;
  ASSERT_TRUE(Call(*records_, &Records::ListRecordings, v1::ListRecordingsRequest(), &list).ok());
  ASSERT_EQ(list.recordings_size(), 1);
  EXPECT_EQ(list.recordings(0).state(), v1::Recording::STATE_CUT_OFF);
  EXPECT_EQ(list.recordings(0).world(), "worlds/kept");
  v1::ReplayRequest request;
  request.set_name("recordings/cut");
  v1::ReplayResponse replay;
  const grpc::Status status = Call(*records_, &Records::Replay, request, &replay);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(replay.has_mismatch());
  EXPECT_FALSE(replay.is_complete());
  EXPECT_GT(replay.compared(), 5);
  EXPECT_LE(replay.steps(), step.step());
}

TEST_F(Durability, AFullDiskEndsARecordingAndNotItsWorld) {
  ASSERT_NO_FATAL_FAILURE(Start(256 << 10));
  v1::World world;
  ASSERT_TRUE(Create("w", false, &world).ok());
  v1::StartRecordingRequest start;
  start.set_world("worlds/w");
  start.set_recording_id("big");
  start.mutable_frames()->set_rate(100);
  v1::Recording recording;
  ASSERT_TRUE(Call(*records_, &Records::StartRecording, start, &recording).ok());
  v1::StepWorldResponse step;
  const auto step_on = [&] {
    ASSERT_TRUE(Step("w", 20, &step).ok());
    v1::ListRecordingsResponse list;
    ASSERT_TRUE(Call(*records_, &Records::ListRecordings, v1::ListRecordingsRequest(), &list).ok());
    recording = list.recordings(0);
  };
  // a chunk of a few frames, which a second ends, fits on the disk
  const std::int64_t head = recording.size();
  while (recording.size() == head && recording.state() == v1::Recording::STATE_ACTIVE) {
    ASSERT_NO_FATAL_FAILURE(step_on());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  for (int i = 0; i < 1000 && recording.state() == v1::Recording::STATE_ACTIVE; ++i)
    ASSERT_NO_FATAL_FAILURE(step_on());
  EXPECT_EQ(recording.state(), v1::Recording::STATE_CUT_OFF);
  EXPECT_THAT(recording.end_reason(), HasSubstr("big.mcap"));
  EXPECT_TRUE(Step("w", 1, &step).ok());
  v1::ReplayRequest request;
  request.set_name("recordings/big");
  v1::ReplayResponse replay;
  const grpc::Status status = Call(*records_, &Records::Replay, request, &replay);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(replay.has_mismatch());
  EXPECT_FALSE(replay.is_complete());
  EXPECT_GE(replay.steps(), 20);
}

TEST_F(Durability, ReplayOfARecordingLeadsToTheSameStates) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::World world;
  ASSERT_TRUE(Create("w", false, &world).ok());
  v1::StepWorldResponse step;
  ASSERT_TRUE(Step("w", 3, &step).ok());
  v1::StartRecordingRequest start;
  start.set_world("worlds/w");
  v1::Recording recording;
  ASSERT_TRUE(Call(*records_, &Records::StartRecording, start, &recording).ok());
  ASSERT_TRUE(Step("w", 30, &step).ok());
  v1::StopRecordingRequest stop;
  stop.set_name(recording.name());
  ASSERT_TRUE(Call(*records_, &Records::StopRecording, stop, &recording).ok());
  EXPECT_EQ(recording.state(), v1::Recording::STATE_COMPLETE);
  v1::ReplayRequest request;
  request.set_name(recording.name());
  v1::ReplayResponse replay;
  ASSERT_TRUE(Call(*records_, &Records::Replay, request, &replay).ok());
  EXPECT_EQ(replay.steps(), 30);
  EXPECT_FALSE(replay.has_mismatch());

  // without the server, too
  const std::string file = data_ + "/recordings/recording-1.mcap";
  const auto run = [&](const std::vector<std::string>& arguments) {
    Program program(arguments, temporary_.File("replay-errors"));
    return program.Wait();
  };
  EXPECT_EQ(run({"replay", file}), 0);
  const std::string out = temporary_.File("exported");
  EXPECT_EQ(run({"export", file, "--out", out, "--fields-rate", "100"}), 0);
  EXPECT_TRUE(fs::exists(out + "/probes.csv"));
  EXPECT_TRUE(fs::exists(out + "/fields.pvd") || fs::exists(out + "/fields/fields.pvd"));
  EXPECT_EQ(run({"replay", temporary_.File("stderr")}), 3);
  EXPECT_EQ(run({"replay", temporary_.File("missing")}), 4);
}

TEST_F(Durability, AServerWithoutADataFolderKeepsNoWorlds) {
  program_ = std::make_unique<Program>(
      std::vector<std::string>{"serve", "--grpc-port", "0", "--http-port", "0"},
      temporary_.File("stderr"));
  const auto ports = ParseReady(program_->ReadLine());
  ASSERT_TRUE(ports.has_value()) << Errors();
  worlds_ = v1::WorldService::NewStub(Connect("127.0.0.1:" + ports->first));
  v1::World world;
  const grpc::Status status = Create("kept", true, &world);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("--data-dir"));
}

}  // namespace
}  // namespace pliant::server
