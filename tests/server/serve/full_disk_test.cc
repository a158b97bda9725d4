// A full disk: a small file system that the test mounts and fills.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "pliant/v1/world.grpc.pb.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/run/temporary_folder.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kDiskBytes = 1 << 20;

// Mounts a file system of 1 MiB in a user namespace that lives as long as the fixture. Skips where
// the machine does not allow this to ordinary users.
class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(disk_);
    const std::string script = "mount -t tmpfs -o size=" + std::to_string(kDiskBytes) + " none '" +
                               disk_ + "' && echo mounted && exec sleep 600";
    holder_ = std::make_unique<Program>(
        std::vector<std::string>{"--user", "--map-root-user", "--mount", "sh", "-c", script},
        temporary_.File("unshare"), 0, "/usr/bin/unshare");
    if (holder_->ReadLine() != "mounted\n")
      GTEST_SKIP() << "this machine lets nobody mount a file system: "
                   << TemporaryFolder::Read(temporary_.File("unshare"));
  }

  // Starts a server on the small disk.
  void Start() {
    const fs::path bin = fs::canonical("/proc/self/exe").parent_path();
    program_ = std::make_unique<Program>(
        std::vector<std::string>{"--target", std::to_string(holder_->id()), "--user", "--mount",
                                 "--preserve-credentials", (bin / "pliantd").string(), "serve",
                                 "--grpc-port", "0", "--http-port", "0", "--data-dir",
                                 disk_ + "/data", "--checkpoint-interval", "1000", "--threads",
                                 "1"},
        temporary_.File("stderr"), 0, "/usr/bin/nsenter");
    const auto ports = ParseReady(program_->ReadLine());
    ASSERT_TRUE(ports.has_value()) << Errors();
    worlds_ = v1::WorldService::NewStub(Connect("127.0.0.1:" + ports->first));
  }
  std::string Errors() const { return TemporaryFolder::Read(temporary_.File("stderr")); }

  // The small disk as this process sees it.
  fs::path Seen(const std::string& name) const {
    return fs::path("/proc") / std::to_string(holder_->id()) / "root" / disk_.substr(1) / name;
  }
  // Fills what is left of the disk.
  void Fill() const {
    std::ofstream file(Seen("filler"), std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

  grpc::Status Create(const std::string& id, bool durable) {
    grpc::ClientContext context;
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(kTestScene);
    request.set_durable(durable);
    v1::World world;
    return worlds_->CreateWorld(&context, request, &world);
  }
  grpc::Status Step(const std::string& id, v1::StepWorldResponse* response) {
    grpc::ClientContext context;
    v1::StepWorldRequest request;
    request.set_name("worlds/" + id);
    request.set_steps(20);
    v1::TargetCommand* command = request.add_commands();
    command->set_target("paddle");
    for (const double v : {0.3, 0.0, 0.0}) command->mutable_twist()->add_linear(v);
    return worlds_->StepWorld(&context, request, response);
  }

  TemporaryFolder temporary_;
  const std::string disk_ = temporary_.File("disk");
  std::unique_ptr<Program> holder_, program_;
  std::unique_ptr<v1::WorldService::Stub> worlds_;
};

TEST_F(FullDisk, PausesItsWorldUntilThereIsRoomAndLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(Create("kept", true).ok()) << Errors();
  ASSERT_TRUE(Create("other", false).ok());
  v1::StepWorldResponse last, next;
  ASSERT_TRUE(Step("kept", &last).ok());
  Fill();
  grpc::Status status;
  for (int i = 0; i < 50 && status.ok(); ++i) {
    status = Step("kept", &next);
    if (status.ok()) last = next;
  }
  EXPECT_THAT(status.error_message(), HasSubstr(disk_));
  EXPECT_THAT(status.error_message(), HasSubstr("Free some space"));
  EXPECT_TRUE(Step("other", &next).ok());
  // requests that need space are refused with the same remedy
  const grpc::Status refused = Create("more", true);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("Free some space"));

  fs::remove(Seen("filler"));
  const auto end = std::chrono::steady_clock::now() + kProgramTimeout;
  while (!(status = Step("kept", &last)).ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(Create("more", true).ok());

  program_->Signal(SIGKILL);
  program_->Wait();
  ASSERT_NO_FATAL_FAILURE(Start());
  grpc::ClientContext context;
  v1::GetWorldRequest request;
  request.set_name("worlds/kept");
  v1::World world;
  status = worlds_->GetWorld(&context, request, &world);
  ASSERT_TRUE(status.ok()) << status.error_message() << Errors();
  EXPECT_EQ(world.step(), last.step());
  EXPECT_EQ(world.state_hash(), last.state_hash());
}

}  // namespace
}  // namespace pliant::server
