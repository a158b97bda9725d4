// The wall clock jumps by days; only expiry dates are affected.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "pliant/v1/control.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"
#include "server/auth/tokens.h"
#include "tests/server/auth/temporary_file.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using Clock = std::chrono::steady_clock;

// Library that shifts the wall clock of a program by an offset in a file.
constexpr char kFakeTime[] = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

class WallClock : public FilesTest {
 protected:
  void SetUp() override {
    FilesTest::SetUp();
    if (!std::filesystem::exists(kFakeTime)) GTEST_SKIP() << "libfaketime is not installed";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer must be the first library that a program loads";
#endif
    passing_ = *AddToken(
        Path("tokens.yaml"),
        {"passing", "operator", "",
         absl::FormatTime(absl::RFC3339_sec, absl::Now() + absl::Hours(24), absl::UTCTimeZone())});
    lasting_ = *AddToken(Path("tokens.yaml"), {"lasting", "operator", "", ""});
    Jump("+0");
    const std::map<std::string, std::string> settings = {
        {"LD_PRELOAD", kFakeTime},
        {"FAKETIME_TIMESTAMP_FILE", Path("offset")},
        {"FAKETIME_NO_CACHE", "1"},
        {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}};
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    program_ = std::make_unique<Program>(
        std::vector<std::string>{"serve", "--grpc-port", "0", "--http-port", "0", "--scene",
                                 Write("scene.yaml", kTestScene), "--tokens", Path("tokens.yaml"),
                                 "--threads", "1"},
        Path("stderr"));
    for (const auto& [name, value] : settings) unsetenv(name.c_str());
    const auto ports = ParseReady(program_->ReadLine());
    ASSERT_TRUE(ports.has_value());
    const auto channel = Connect("127.0.0.1:" + ports->first);
    worlds_ = v1::WorldService::NewStub(channel);
    control_ = v1::ControlService::NewStub(channel);
  }

  // Sets the offset of the wall clock, e.g. "+2d"; the file is replaced atomically.
  void Jump(const std::string& offset) const {
    std::filesystem::rename(Write("next_offset", offset), Path("offset"));
  }

  static void Prepare(grpc::ClientContext* context, const std::string& token) {
    context->set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    context->AddMetadata("authorization", "Bearer " + token);
  }
  grpc::Status Get(const std::string& token, v1::World* world) {
    grpc::ClientContext context;
    Prepare(&context, token);
    v1::GetWorldRequest request;
    request.set_name("worlds/default");
    return worlds_->GetWorld(&context, request, world);
  }
  grpc::Status Acquire(v1::Lease* lease) {
    grpc::ClientContext context;
    Prepare(&context, lasting_);
    v1::AcquireLeaseRequest request;
    request.set_world("worlds/default");
    request.set_target("paddle");
    return control_->AcquireLease(&context, request, lease);
  }

  // The world runs on in real time, neither stopped nor ahead, and a lease lapses after its second.
  void ExpectLifeGoesOn() {
    v1::World before, after;
    const auto start = Clock::now();
    ASSERT_TRUE(Get(lasting_, &before).ok());
    v1::Lease lease;
    ASSERT_TRUE(Acquire(&lease).ok());
    const auto end = Clock::now() + kProgramTimeout;
    while (!Acquire(&lease).ok() && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(Get(lasting_, &after).ok());
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    EXPECT_GT(passed, 1);  // the lease did not lapse before
    EXPECT_GT(after.time(), before.time());
    EXPECT_LT(after.time() - before.time(), passed + 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // this lease lapses, too
  }

  std::string passing_, lasting_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<v1::WorldService::Stub> worlds_;
  std::unique_ptr<v1::ControlService::Stub> control_;
};

TEST_F(WallClock, JumpByDaysAffectsOnlyTheExpiryOfTokens) {
  v1::World world;
  EXPECT_TRUE(Get(passing_, &world).ok());
  ExpectLifeGoesOn();
  Jump("+2d");
  EXPECT_EQ(Get(passing_, &world).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  ExpectLifeGoesOn();
  Jump("-3d");
  EXPECT_TRUE(Get(passing_, &world).ok());
  ExpectLifeGoesOn();
  program_->Signal(SIGTERM);
  EXPECT_EQ(program_->Wait(), 0);
}

}  // namespace
}  // namespace pliant::server
