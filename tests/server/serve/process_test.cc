// pliantd as a process: its ready line, its exit statuses and its shutdown.

#include <array>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include <sys/wait.h>

#include "pliant/v1/stream.grpc.pb.h"
#include "tests/server/host/test_scene.h"

extern char** environ;

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

// A child process with stdout in a pipe and stderr in a file.
class Program {
 public:
  Program(const std::vector<std::string>& arguments, const fs::path& errors) {
    const std::string path = (fs::canonical("/proc/self/exe").parent_path() / "pliantd").string();
    EXPECT_TRUE(fs::exists(path)) << path << " is not built; build everything, not this test alone";
    std::vector<char*> argv{const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe(pipe_ends.data()), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    out_ = fdopen(pipe_ends[0], "r");
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fclose(out_);
  }

  std::string ReadLine() {
    std::array<char, 512> line{};
    return fgets(line.data(), line.size(), out_) != nullptr ? line.data() : "";
  }
  void Signal(int number) const { kill(pid_, number); }

  // Returns the exit status, or −1 when it does not end or is ended by a signal.
  int Wait() {
    const auto end = Clock::now() + kPatience;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (Clock::now() > end) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* out_ = nullptr;
};

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

// Ports in the ready line; none when the line has any other form.
std::optional<std::pair<std::string, std::string>> ParseReady(const std::string& line) {
  static const std::regex kReady(
      "\\{\"ready\": true, \"grpc\": \"127\\.0\\.0\\.1:([0-9]+)\", \"http\": "
      "\"http://127\\.0\\.0\\.1:([0-9]+)\"\\}\n");
  std::smatch match;
  if (!std::regex_match(line, match, kReady)) return std::nullopt;
  return std::pair{match[1].str(), match[2].str()};
}

TEST_F(Process, FirstLineSaysWhereAndSigtermEndsItWithStreamsOpen) {
  const auto server = Run({"serve", "--grpc-port", "0", "--http-port", "0", "--scene", scene_});
  const std::string line = server->ReadLine();
  const auto ports = ParseReady(line);
  ASSERT_TRUE(ports.has_value()) << line << Errors();

  // the world `default` runs in real time
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + ports->first,
                                                 grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::StreamService::NewStub(channel);
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

TEST_F(Process, SigintEndsItToo) {
  const auto server = Run({"--grpc-port", "0", "--http-port", "0"});
  ASSERT_TRUE(ParseReady(server->ReadLine()).has_value()) << Errors();
  server->Signal(SIGINT);
  EXPECT_EQ(server->Wait(), 0) << Errors();
}

TEST_F(Process, TakenPortIsNamedWithTheWayOut) {
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

TEST_F(Process, UnusableDataFolderIsNamed) {
  const auto server = Run(
      {"serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", scene_ + "/below-a-file"});
  EXPECT_EQ(server->Wait(), 4);
  EXPECT_NE(Errors().find("below-a-file"), std::string::npos) << Errors();
  EXPECT_NE(Errors().find("--data-dir"), std::string::npos) << Errors();
}

}  // namespace
}  // namespace pliant::server
