#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pliant/client.h"
#include "tests/server/host/table_scene.h"
#include "tests/server/serve/program.h"

namespace pliant {

// Long enough for a busy machine.
inline constexpr std::chrono::seconds kTimeout{60};

template <typename Condition>
bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// The scene of the server's tests, with probes. No file is needed but that of the arm.
inline const std::string kScene = std::string(server::kTestScene) + R"(probes:
  - {name: cube_p, position: {body: cube}}
  - {name: strain, field: {body: ball, measure: VON_MISES_STRAIN, reduce: MAX}}
)";

// One joint about the vertical axis, held by a spring and a damper.
inline constexpr char kArmScene[] = R"(name: arm
time_step: 0.005
robots:
  - name: arm
    file: arm.urdf
    base: FIXED
    actuators: [{joint: ".*", pd: {stiffness: 100, damping: 10}, effort_limit: 50}]
)";
inline constexpr char kArm[] = R"(<robot name="arm"><link name="base"/><link name="rod">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="turn" type="revolute"><parent link="base"/><child link="rod"/>
  <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="50" velocity="2"/></joint></robot>
)";

// A real pliantd on free ports, with a data directory of its own.
class PliantdTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/pliantd-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Start(Flags());
    auto client = Client::Connect(Options());
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  void TearDown() override {
    client_.reset();
    pliantd_.reset();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  // Starts the server, on its earlier gRPC port if it ran before.
  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"serve",      "--grpc-port",    port_, "--http-port", "0",
                                       "--data-dir", folder_ + "/data"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    pliantd_ = std::make_unique<server::Program>(arguments, folder_ + "/errors.txt");
    static const std::regex kReady(
        R"re("grpc": "127\.0\.0\.1:(\d+)", "http": "https?://127\.0\.0\.1:(\d+)")re");
    std::smatch ports;
    const std::string line = pliantd_->ReadLine();
    ASSERT_TRUE(std::regex_search(line, ports, kReady)) << line;
    port_ = ports[1];
    http_port_ = ports[2];
  }
  void Kill() {
    pliantd_->Signal(SIGKILL);
    pliantd_->Wait();
  }

  // Additional flags of the server that SetUp starts.
  virtual std::vector<std::string> Flags() { return {}; }

  std::string address() const { return "127.0.0.1:" + port_; }
  virtual ClientOptions Options() const { return {.address = address(), .name = "test"}; }

  World Create(const std::string& id, const std::string& scene = kScene, bool is_durable = false) {
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(scene);
    request.set_file_name("scene.yaml");
    request.set_durable(is_durable);
    const auto world = client_->CreateWorld(request);
    EXPECT_TRUE(world.ok()) << world.status();
    return client_->GetWorld(id);
  }

  World CreateArm(const std::string& id) {
    WriteFile("arm.yaml", kArmScene);
    WriteFile("arm.urdf", kArm);
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    const auto world = client_->CreateWorldFromFile(folder_ + "/arm.yaml", request);
    EXPECT_TRUE(world.ok()) << world.status();
    return client_->GetWorld(id);
  }

  static std::string ReadBytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string WriteFile(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_NE(file, nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
  }

  std::string folder_;
  std::string port_ = "0", http_port_;
  std::unique_ptr<server::Program> pliantd_;
  std::shared_ptr<Client> client_;
};

}  // namespace pliant
