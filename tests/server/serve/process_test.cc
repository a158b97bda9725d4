// pliantd as a process: its ready line, its exit statuses and its shutdown.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sched.h>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "pliant/v1/stream.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"
#include "tests/server/host/spinning_threads.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class Process : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pliant-process-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    scene_ = (folder_ / "scene.yaml").string();
    std::ofstream(scene_) << kTestScene;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Program> Run(std::vector<std::string> arguments) {
    return std::make_unique<Program>(arguments, folder_ / "stderr");
  }
  std::string Errors() const {
    std::ifstream stream(folder_ / "stderr");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
  std::string scene_;
};

TEST_F(Process, FirstLineSaysWhereAndSigtermEndsItWithStreamsOpen) {
  const auto server = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--scene", scene_});
  const std::string line = server->ReadLine();
  const auto ports = ParseReady(line);
  ASSERT_TRUE(ports.has_value()) << line << Errors();

  // the world `default` runs in real time
  const auto stub = v1::StreamService::NewStub(Connect("127.0.0.1:" + ports->first));
  grpc::ClientContext context;
  const auto stream = stub->Subscribe(&context);
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world("worlds/default");
  ASSERT_TRUE(stream->Write(request));
  v1::SubscribeResponse response;
  do {
    ASSERT_TRUE(stream->Read(&response));
  } while (response.frame().step() < 3);
  EXPECT_TRUE(response.frame().clock().has_real_time());

  // the stream stays open and unread
  const auto start = Clock::now();
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0) << Errors();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  context.TryCancel();
  stream->Finish();
}

// A client that comes back to a server that was started again must find the world of its scene.
TEST_F(Process, TheWorldOfItsSceneStandsBeforeItListens) {
  const auto first = Run({"serve", "--grpc-port", "0", "--http-port", "0"});
  const auto ports = ParseReady(first->ReadLine());
  ASSERT_TRUE(ports.has_value()) << Errors();
  first->Signal(SIGTERM);
  ASSERT_EQ(first->Wait(), 0) << Errors();
  const auto server =
      Run({"serve", "--grpc-port", "0", "--http-port", ports->second, "--scene", scene_});
  boost::asio::io_context io;
  std::unique_ptr<SocketClient> client;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
  while (client == nullptr && Clock::now() < end) {
    try {
      client =
          std::make_unique<SocketClient>(&io, std::stoi(ports->second), std::chrono::seconds(60));
    } catch (const boost::system::system_error&) {
      // it does not listen yet
    }
  }
  ASSERT_NE(client, nullptr) << Errors();
  v1::GetWorldRequest request;
  request.set_name("worlds/default");
  google::rpc::Status status;
  client->Call<v1::World>("WorldService/GetWorld", request, &status);
  EXPECT_EQ(status.code(), 0) << status.message();
}

TEST_F(Process, SigintEndsItToo) {
  const auto server = Run({"--grpc-port", "0", "--http-port", "0"});
  ASSERT_TRUE(ParseReady(server->ReadLine()).has_value()) << Errors();
  server->Signal(SIGINT);
  EXPECT_EQ(server->Wait(), 0) << Errors();
}

TEST_F(Process, TakenPortIsNamedWithTheRemedy) {
  const auto first = Run({"serve", "--grpc-port", "0", "--http-port", "0"});
  const auto ports = ParseReady(first->ReadLine());
  ASSERT_TRUE(ports.has_value()) << Errors();
  const auto http = Run({"serve", "--grpc-port", "0", "--http-port", ports->second});
  EXPECT_EQ(http->Wait(), 4);
  EXPECT_NE(Errors().find(ports->second), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("--http-port"), std::string::npos) << Errors();
  const auto grpc = Run({"serve", "--grpc-port", ports->first, "--http-port", "0"});
  EXPECT_EQ(grpc->Wait(), 4);
  EXPECT_NE(Errors().find(ports->first), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("--grpc-port"), std::string::npos) << Errors();
}

TEST_F(Process, InvalidSceneEndsItWithPlaceAndField) {
  std::ofstream(scene_) << "bodies:\n  - name: a\n    rigid: {motion: FREE, density: -1, shapes: "
                           "[{sphere: {radius: 1}}]}\n";
  const auto server = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--scene", scene_});
  EXPECT_EQ(server->Wait(), 3);
  EXPECT_NE(Errors().find("scene.yaml:3:"), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("bodies[0].rigid.density"), std::string::npos) << Errors();
}

TEST_F(Process, DataFolderOfAnotherServerIsNamedWithItsProcess) {
  const std::string folder = (folder_ / "data").string();
  const auto first = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", folder});
  ASSERT_TRUE(ParseReady(first->ReadLine()).has_value()) << Errors();
  const auto second = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", folder});
  EXPECT_EQ(second->Wait(), 4);
  EXPECT_NE(Errors().find("process " + std::to_string(first->id())), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("--data-dir"), std::string::npos) << Errors();

  // the lock ends with the process, however that ends
  first->Signal(SIGKILL);
  EXPECT_EQ(first->Wait(), -1);
  const auto third = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", folder});
  EXPECT_TRUE(ParseReady(third->ReadLine()).has_value()) << Errors();
}

TEST_F(Process, UnusableDataFolderIsNamed) {
  const auto server = Run(
      {"serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", scene_ + "/below-a-file"});
  EXPECT_EQ(server->Wait(), 4);
  EXPECT_NE(Errors().find("below-a-file"), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("--data-dir"), std::string::npos) << Errors();
}

TEST_F(Process, SpinLockstepKeepsProcessorsAwake) {
  for (const bool spins : {false, true}) {
    std::vector<std::string> serve = {"serve", "--grpc-port", "0", "--http-port", "0"};
    if (spins) serve.insert(serve.end(), {"--spin-lockstep", "100000"});
    const auto server = Run(serve);
    const auto ports = ParseReady(server->ReadLine());
    ASSERT_TRUE(ports.has_value()) << Errors();
    const auto worlds = v1::WorldService::NewStub(Connect("127.0.0.1:" + ports->first));
    v1::CreateWorldRequest create;
    create.set_world_id("w");
    create.set_scene_yaml(kTestScene);
    v1::World world;
    grpc::ClientContext creation;
    ASSERT_TRUE(worlds->CreateWorld(&creation, create, &world).ok());
    const std::vector<pid_t> threads = FindSpinningThreads(server->id());
    EXPECT_EQ(!threads.empty(), spins);
    const auto step = [&] {
      grpc::ClientContext context;
      v1::StepWorldRequest request;
      request.set_name("worlds/w");
      v1::StepWorldResponse response;
      return worlds->StepWorld(&context, request, &response).ok();
    };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(step());
    if (!spins) continue;
    const auto count = [&](const auto& condition) {
      return std::ranges::count_if(threads, condition);
    };
    const auto runs = [&](pid_t thread) { return IsRunnable(server->id(), thread); };
    const auto gives_way = [&](pid_t thread) {
      return runs(thread) && sched_getscheduler(thread) == SCHED_IDLE;
    };
    // all of them spin after an answer; a busy machine may need several attempts
    const auto spin = [&] {
      for (int i = 0; i < 10; ++i) {
        if (count(gives_way) < std::ssize(threads)) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
      return true;
    };
    const auto end = Clock::now() + kProgramTimeout;
    bool awake = false;
    while (!(awake = spin()) && Clock::now() < end) ASSERT_TRUE(step());
    EXPECT_TRUE(awake);
    // without requests they sleep
    EXPECT_TRUE(WaitUntil([&] { return count(runs) == 0; }));
  }
}

// Root may write anywhere, unless it has given up its capabilities.
TEST_F(Process, DataFolderThatIsReadOnlyIsNamedAtTheStart) {
  const fs::path folder = folder_ / "data";
  const std::vector<std::string> serve = {"serve",      "--grpc-port",  "0", "--http-port", "0",
                                          "--data-dir", folder.string()};
  const auto run = [&] {
    if (geteuid() != 0) return Run(serve);
    std::vector<std::string> words = {
        "--inh-caps=-all", "--bounding-set=-all",
        (fs::canonical("/proc/self/exe").parent_path() / "pliantd").string()};
    words.insert(words.end(), serve.begin(), serve.end());
    return std::make_unique<Program>(words, folder_ / "stderr", 0, "/usr/bin/setpriv");
  };
  // the folder of an earlier server, read-only as a whole or in one part
  {
    const auto server = Run(serve);
    ASSERT_TRUE(ParseReady(server->ReadLine()).has_value()) << Errors();
    server->Signal(SIGTERM);
    ASSERT_EQ(server->Wait(), 0) << Errors();
  }
  for (const char* part : {"", "worlds", "recordings", "objects", "lock", "audit.log"}) {
    const fs::path path = folder / part;
    const fs::perms before = fs::status(path).permissions();
    const fs::perms writable =
        fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
    fs::permissions(path, writable, fs::perm_options::remove);
    const auto server = run();
    EXPECT_EQ(server->ReadLine(), "") << part;
    EXPECT_EQ(server->Wait(), 4) << part << Errors();
    EXPECT_NE(Errors().find(folder.string()), std::string::npos) << part << Errors();
    EXPECT_TRUE(Errors().find("ermission denied") != std::string::npos ||
                Errors().find("is not writable") != std::string::npos)
        << part << Errors();
    fs::permissions(path, before);
  }
}

}  // namespace
}  // namespace pliant::server
