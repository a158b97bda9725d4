#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"

#include "pliant/v1/control.grpc.pb.h"
#include "pliant/v1/stream.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"
#include "server/serve/server.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {

// Long enough for a busy machine.
inline constexpr std::chrono::seconds kTimeout{60};

inline bool WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A connection that no other channel of this process shares.
inline std::shared_ptr<grpc::Channel> Connect(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                                    grpc::InsecureChannelCredentials()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// Status of a first call on such a connection.
inline grpc::Status Visit(const std::string& address,
                          const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                              grpc::InsecureChannelCredentials()) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  v1::ServerInfo info;
  return v1::WorldService::NewStub(Connect(address, credentials))
      ->GetServer(&context, v1::GetServerRequest(), &info);
}

// A real server in this process, on free ports, and stubs that call it.
class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ServeOptions options;
    options.grpc_port = 0;
    options.http_port = 0;
    options.viewer_dir = viewer_dir_;
    options.version = "test";
    options.quotas = quotas_;
    options.data_dir = data_dir_;
    Configure(&options);
    auto server = Server::Start(options, scene_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = Connect(server_->grpc_address());
    worlds_ = v1::WorldService::NewStub(channel_);
    streams_ = v1::StreamService::NewStub(channel_);
    control_ = v1::ControlService::NewStub(channel_);
  }

  // Ends the server before members of a derived test, such as the data folder, are destroyed.
  void TearDown() override { server_.reset(); }

  // Changes the options of the server.
  virtual void Configure(ServeOptions* /*options*/) {}

  grpc::Status Create(const std::string& id, const std::string& yaml = kTestScene) {
    grpc::ClientContext context;
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(yaml);
    request.set_file_name("uploaded.yaml");
    v1::World world;
    return worlds_->CreateWorld(&context, request, &world);
  }

  grpc::Status Step(const std::string& id, int steps, v1::StepWorldResponse* response,
                    std::chrono::milliseconds timeout = kTimeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    v1::StepWorldRequest request;
    request.set_name("worlds/" + id);
    request.set_steps(steps);
    return worlds_->StepWorld(&context, request, response);
  }

  v1::World Get(const std::string& id) {
    grpc::ClientContext context;
    v1::GetWorldRequest request;
    request.set_name("worlds/" + id);
    v1::World world;
    const grpc::Status status = worlds_->GetWorld(&context, request, &world);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return world;
  }

  grpc::Status RunInRealTime(const std::string& id, double factor = 1) {
    grpc::ClientContext context;
    v1::SetClockRequest request;
    request.set_name("worlds/" + id);
    request.mutable_real_time()->set_factor(factor);
    v1::World world;
    return worlds_->SetClock(&context, request, &world);
  }

  grpc::Status Delete(const std::string& id) {
    grpc::ClientContext context;
    v1::DeleteWorldRequest request;
    request.set_name("worlds/" + id);
    google::protobuf::Empty empty;
    return worlds_->DeleteWorld(&context, request, &empty);
  }

  grpc::Status Acquire(const std::string& id, const std::string& target, const std::string& client,
                       bool takeover, v1::Lease* lease, const std::string& renewed = "") {
    grpc::ClientContext context;
    v1::AcquireLeaseRequest request;
    request.set_world("worlds/" + id);
    request.set_target(target);
    request.set_client(client);
    request.set_takeover(takeover);
    request.set_lease_id(renewed);
    return control_->AcquireLease(&context, request, lease);
  }

  std::string viewer_dir_ = "/nonexistent";
  std::string data_dir_;
  Quotas quotas_{.server = {.worlds = 4}};
  std::shared_ptr<const physics::Model> scene_;  // becomes the world `default` if set before SetUp
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::WorldService::Stub> worlds_;
  std::unique_ptr<v1::StreamService::Stub> streams_;
  std::unique_ptr<v1::ControlService::Stub> control_;
};

}  // namespace pliant::server
