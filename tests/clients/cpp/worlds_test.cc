// Requests of the client about worlds, against a real pliantd.

#include <fstream>
#include <set>
#include <thread>

#include "tests/clients/pliantd.h"

namespace pliant {
namespace {

using testing::HasSubstr;

class Worlds : public PliantdTest {};

TEST_F(Worlds, GoThroughTheirLife) {
  const World world = Create("lab");
  const auto stepped = world.Step(5);
  ASSERT_TRUE(stepped.ok()) << stepped.status();
  EXPECT_EQ(stepped->step(), 5);
  const auto probed = world.Probe({"cube_p"});
  ASSERT_TRUE(probed.ok()) << probed.status();
  EXPECT_EQ(probed->probes(0).values_size(), 3);

  const auto state = world.SaveState();
  ASSERT_TRUE(state.ok()) << state.status();
  const std::string hash = world.Get()->state_hash();
  const auto fork = world.Fork("fork");
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->Get()->state_hash(), hash);
  ASSERT_TRUE(world.Step(5).ok());
  EXPECT_NE(world.Get()->state_hash(), hash);
  ASSERT_TRUE(world.RestoreState(*state).ok());
  EXPECT_EQ(world.Get()->state_hash(), hash);

  EXPECT_EQ(world.Run(0.5)->clock().real_time().factor(), 0.5);
  EXPECT_TRUE(world.Pause()->clock().has_paused());
  EXPECT_EQ(world.Reset()->step(), 0);
  ASSERT_TRUE(fork->Delete().ok());
  const auto worlds = client_->ListWorlds();
  ASSERT_TRUE(worlds.ok()) << worlds.status();
  EXPECT_EQ(worlds->size(), 1u);
}

TEST_F(Worlds, KeepCheckpointsByName) {
  const World world = Create("lab", kScene, true);
  ASSERT_TRUE(world.Step(3).ok());
  const std::string hash = world.Get()->state_hash();
  ASSERT_TRUE(world.SaveCheckpoint("three").ok());
  ASSERT_TRUE(world.Step(3).ok());
  const auto state = world.FetchCheckpoint("three");
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_TRUE(world.RestoreCheckpoint("three").ok());
  EXPECT_EQ(world.Get()->state_hash(), hash);
  ASSERT_TRUE(world.DeleteCheckpoint("three").ok());
  EXPECT_TRUE(absl::IsNotFound(world.FetchCheckpoint("three").status()));
}

TEST_F(Worlds, AreCreatedWithTheFilesThatTheServerLacks) {
  const World world = CreateArm("arm");
  const auto description = world.Describe();
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ((*description)->FindJoint("arm", "turn").value(), 0);
  const auto unknown = (*description)->FindJoint("arm", "turm");
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("it has turn"));
}

TEST_F(Worlds, StepInLockstepInOneCall) {
  Create("a");
  Create("b");
  v1::StepWorldsRequest request;
  for (const char* name : {"worlds/a", "worlds/b", "worlds/nowhere"}) {
    v1::StepWorldRequest* one = request.add_requests();
    one->set_name(name);
    one->set_steps(4);
    one->add_probes("cube_p");
  }
  const auto stepped = client_->StepWorlds(request);
  ASSERT_TRUE(stepped.ok()) << stepped.status();
  EXPECT_EQ(stepped->results(0).response().state_hash(),
            stepped->results(1).response().state_hash());
  EXPECT_EQ(stepped->results(0).response().probes(0).values_size(), 3);
  EXPECT_EQ(stepped->results(2).status().code(), static_cast<int>(absl::StatusCode::kNotFound));
}

TEST_F(Worlds, AnswerWithoutWaiting) {
  Create("lab");
  v1::StepWorldRequest request;
  request.set_name("worlds/lab");
  request.set_steps(3);
  auto first = client_->CallAsync(request), second = client_->CallAsync(request);
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_EQ(client_->GetWorld("lab").Get()->step(), 6);
  std::promise<absl::Status> unknown;
  v1::GetWorldRequest nowhere;
  nowhere.set_name("worlds/nowhere");
  client_->CallAsync(
      nowhere, [&](const absl::StatusOr<v1::World>& world) { unknown.set_value(world.status()); });
  EXPECT_TRUE(absl::IsNotFound(unknown.get_future().get()));
}

TEST_F(Worlds, TakeRequestsOfManyThreadsAtOnce) {
  const World world = Create("lab");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) EXPECT_TRUE(world.Step().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.Get()->step(), 40);
}

TEST_F(Worlds, ThatDoNotExistAreNamedWithThoseThatDo) {
  Create("bench");
  Create("other");
  const auto status = client_->FindWorld("bensh").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("there are: bench, other"));
}

TEST_F(Worlds, OfInvalidScenesGiveTheFieldsThatAreWrong) {
  v1::CreateWorldRequest request;
  request.set_scene_yaml("time_step: -1\nbodies: []\n");
  request.set_file_name("bad.yaml");
  const absl::Status status = client_->CreateWorld(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.yaml:1:12: time_step: -1"));
  const std::vector<FieldViolation> violations = ListFieldViolations(status);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations[0].field, "time_step");
}

TEST_F(Worlds, AreRecordedAndTheFileIsFetchedBesideAPartialOne) {
  const World world = Create("lab", kScene, true);
  v1::StartRecordingRequest start;
  start.set_recording_id("take");
  start.mutable_frames()->set_rate(100);
  ASSERT_TRUE(world.StartRecording(start).ok());
  ASSERT_TRUE(world.Step(50).ok());
  v1::StopRecordingRequest stop;
  stop.set_name("recordings/take");
  ASSERT_TRUE(client_->Call(stop).ok());

  const std::string whole = folder_ + "/whole.mcap", rest = folder_ + "/rest.mcap";
  const auto size = client_->FetchRecording("take", whole);
  ASSERT_TRUE(size.ok()) << size.status();
  const std::string bytes = ReadBytes(whole);
  EXPECT_EQ(bytes.size(), static_cast<std::size_t>(*size));
  EXPECT_EQ(bytes.substr(1, 4), "MCAP");
  // the result is the same from a correct partial file and from a wrong one
  WriteFile("rest.mcap.part", bytes.substr(0, bytes.size() / 2));
  ASSERT_TRUE(client_->FetchRecording("take", rest).ok());
  EXPECT_EQ(ReadBytes(rest), bytes);
  WriteFile("rest.mcap.part", std::string(bytes.size() / 2, 'x'));
  ASSERT_TRUE(client_->FetchRecording("take", rest).ok());
  EXPECT_EQ(ReadBytes(rest), bytes);
  v1::ReplayRequest replay;
  replay.set_name("recordings/take");
  const auto replayed = client_->Call(replay);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_FALSE(replayed->has_mismatch());
}

TEST_F(Worlds, DownloadsResumeAndAreComparedWithTheHashOfTheServer) {
  const World world = Create("lab", kScene, true);
  v1::StartRecordingRequest start;
  start.set_recording_id("take");
  start.mutable_frames()->set_rate(1000);
  ASSERT_TRUE(world.StartRecording(start).ok());
  ASSERT_TRUE(world.Step(4000).ok());
  // While it is written there is no hash to compare with. Only the rest of the file is fetched: a
  // wrong byte stays in a partial file whose end is correct.
  const std::string early = folder_ + "/early.mcap";
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_TRUE(world.Step().ok());  // a step writes what was recorded a second before it
    const auto size = client_->FetchRecording("take", early);
    return size.ok() && *size > (2 << 16);  // more than the overlap that is compared
  }));
  std::string part = ReadBytes(early);
  part[10] ^= 1;
  WriteFile("early.mcap.part", part);
  ASSERT_TRUE(client_->FetchRecording("take", early).ok());
  EXPECT_TRUE(ReadBytes(early).starts_with(part));
  v1::StopRecordingRequest stop;
  stop.set_name("recordings/take");
  ASSERT_TRUE(client_->Call(stop).ok());

  const std::string copy = folder_ + "/copy.mcap";
  ASSERT_TRUE(client_->FetchRecording("take", copy).ok());
  std::string bytes = ReadBytes(copy);
  ASSERT_GT(bytes.size(), 2U << 16);
  bytes[10] ^= 1;
  bytes.pop_back();
  WriteFile("again.mcap.part", bytes);
  const std::string again = folder_ + "/again.mcap";
  // the end of the partial file is correct: the download resumes, fails the hash and restarts
  ASSERT_TRUE(client_->FetchRecording("take", again).ok());
  EXPECT_EQ(ReadBytes(again), ReadBytes(copy));
}

TEST_F(Worlds, CallsInProgressAreCancelled) {
  const World world = Create("lab");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    client_->CancelAll();
  });
  EXPECT_TRUE(absl::IsCancelled(world.Step(10'000'000).status()));
  other.join();
  EXPECT_TRUE(world.Get().ok());
}

TEST_F(Worlds, LongCallsHaveATimeoutOfTheirOwn) {
  Create("lab");
  ClientOptions options = Options();
  options.long_timeout = std::chrono::milliseconds(200);
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  const World world = (*client)->GetWorld("lab");
  EXPECT_TRUE(absl::IsDeadlineExceeded(world.Step(10'000'000).status()));
  v1::StepWorldRequest request;
  request.set_name(world.name());
  request.set_steps(10'000'000);
  EXPECT_TRUE(absl::IsDeadlineExceeded((*client)->CallAsync(request).get().status()));
  EXPECT_TRUE(world.Get().ok());
}

TEST(Connecting, SaysWhatIsWrongWithAnAddress) {
  const absl::Status portless = Client::Connect({.address = "localhost"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(portless));
  EXPECT_THAT(std::string(portless.message()), HasSubstr("HOST:PORT"));
  const absl::Status absent = Client::Connect({.address = "127.0.0.1:1"}).status();
  EXPECT_TRUE(absl::IsUnavailable(absent));
  EXPECT_THAT(std::string(absent.message()), HasSubstr("pliantd serve"));
  const absl::Status unread =
      Client::Connect({.address = "127.0.0.1:1", .ca_file = "/nonexistent.pem"}).status();
  EXPECT_THAT(std::string(unread.message()), HasSubstr("/nonexistent.pem"));
}

TEST_F(Worlds, TheHttpPortIsRecognized) {
  const absl::Status status = Client::Connect({.address = "127.0.0.1:" + http_port_}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--grpc-port"));
}

}  // namespace
}  // namespace pliant
