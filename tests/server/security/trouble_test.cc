// pliantd as a process: signals under load, access from other machines, an installed copy.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <signal.h>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "grpc/health/v1/health.grpc.pb.h"
#include "pliant/v1/objects.grpc.pb.h"
#include "pliant/v1/stream.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"
#include "server/auth/tokens.h"
#include "server/service/methods.h"
#include "tests/server/auth/certificate_maker.h"
#include "tests/server/auth/temporary_file.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class Trouble : public FilesTest {
 protected:
  std::unique_ptr<Program> Run(std::vector<std::string> arguments) {
    const std::vector<std::string> ports = {"serve", "--grpc-port", "0", "--http-port", "0"};
    arguments.insert(arguments.begin(), ports.begin(), ports.end());
    return std::make_unique<Program>(arguments, Path("stderr"));
  }
  std::string Errors() const {
    std::ifstream stream(Path("stderr"));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::shared_ptr<grpc::Channel> Connect(Program* server) {
    const std::string line = server->ReadLine();
    const auto ports = ParseReady(line);
    EXPECT_TRUE(ports.has_value()) << line << Errors();
    return server::Connect("127.0.0.1:" + (ports ? ports->first : "1"));
  }
  static grpc::Status GetServer(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& token, v1::ServerInfo* info) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return v1::WorldService::NewStub(channel)->GetServer(&context, v1::GetServerRequest(), info);
  }
};

// Requests and streams of several clients, some of which never read, until the server ends.
class Load {
 public:
  Load(std::shared_ptr<grpc::Channel> channel, const std::string& world)
      : channel_(std::move(channel)), world_(world) {
    threads_.emplace_back([this] { Step(); });
    threads_.emplace_back([this] { Watch(true); });
    threads_.emplace_back([this] { Watch(false); });
  }
  ~Load() {
    over_.store(true);
    for (std::thread& thread : threads_) thread.join();
  }
  int steps() const { return steps_.load(); }

 private:
  void Step() {
    const auto stub = v1::WorldService::NewStub(channel_);
    while (true) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
      v1::StepWorldRequest request;
      request.set_name(world_);
      request.set_steps(5);
      v1::StepWorldResponse response;
      if (!stub->StepWorld(&context, request, &response).ok()) return;
      steps_.fetch_add(5);
    }
  }
  void Watch(bool reads) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    const auto stream = v1::StreamService::NewStub(channel_)->Subscribe(&context);
    v1::SubscribeRequest request;
    request.mutable_subscription()->set_world(world_);
    request.mutable_subscription()->set_rate(1000);
    if (!stream->Write(request)) return;
    v1::SubscribeResponse response;
    while (reads && stream->Read(&response)) {
    }
    while (!reads && !over_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context.TryCancel();
    stream->Finish();
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string world_;
  std::atomic<int> steps_{0};
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

TEST_F(Trouble, SigtermUnderLoadEndsItInTime) {
  const auto server = Run({"--data-dir", Path("data")});
  const auto channel = Connect(server.get());
  const auto worlds = v1::WorldService::NewStub(channel);
  std::vector<std::unique_ptr<Load>> loads;
  for (int i = 0; i < 6; ++i) {
    grpc::ClientContext context;
    v1::CreateWorldRequest request;
    request.set_world_id(absl::StrCat("w", i));
    request.set_scene_yaml(kTestScene);
    v1::World world;
    ASSERT_TRUE(worlds->CreateWorld(&context, request, &world).ok());
    loads.push_back(std::make_unique<Load>(channel, world.name()));
  }
  const auto deadline = Clock::now() + kProgramTimeout;
  for (const auto& load : loads) {
    while (load->steps() < 10 && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_GE(load->steps(), 10);
  }
  const auto start = Clock::now();
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0) << Errors();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(Errors().find("hard_exit"), std::string::npos) << Errors();
}

TEST_F(Trouble, SighupReadsTokensAgain) {
  const std::string tokens = Path("tokens.yaml");
  const auto first = AddToken(tokens, {"first", "viewer", "", ""});
  ASSERT_TRUE(first.ok());
  const auto server = Run({"--tokens", tokens});
  const auto channel = Connect(server.get());
  v1::ServerInfo info;
  EXPECT_TRUE(GetServer(channel, *first, &info).ok());
  EXPECT_EQ(std::vector<std::string>(info.features().begin(), info.features().end()),
            std::vector<std::string>{"tokens"});
  EXPECT_EQ(info.build().size(), 40u) << info.build();
  EXPECT_EQ(GetServer(channel, "", &info).error_code(), grpc::StatusCode::UNAUTHENTICATED);

  const auto second = AddToken(tokens, {"second", "viewer", "", ""});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(GetServer(channel, *second, &info).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  server->Signal(SIGHUP);
  const auto end = Clock::now() + kProgramTimeout;
  grpc::Status status;
  do {
    status = GetServer(channel, *second, &info);
  } while (!status.ok() && Clock::now() < end);
  EXPECT_TRUE(status.ok()) << status.error_message();

  // a broken file is reported, and changes nothing
  Write("tokens.yaml", "- {name: broken");
  server->Signal(SIGHUP);
  while (Errors().find("reload_failed") == std::string::npos && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_NE(Errors().find("tokens.yaml:1"), std::string::npos) << Errors();
  EXPECT_TRUE(GetServer(channel, *first, &info).ok());
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0) << Errors();
}

TEST_F(Trouble, SighupReadsQuotasAgain) {
  const std::string config = Write("pliant.toml", "max-worlds = 1\n");
  const auto server = Run({"--config", config, "--max-user-dofs", "100"});
  const auto worlds = v1::WorldService::NewStub(Connect(server.get()));
  const auto create = [&worlds](const std::string& id) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(kTestScene);
    v1::World world;
    return worlds->CreateWorld(&context, request, &world);
  };
  const auto reload = [&](const std::string& text) {
    Write("pliant.toml", text);
    server->Signal(SIGHUP);
  };
  const auto end = Clock::now() + kProgramTimeout;
  EXPECT_TRUE(create("a").ok());
  EXPECT_EQ(create("b").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  // a broken file is reported, and changes nothing
  reload("max-worlds = many\n");
  while (Errors().find("reload_failed") == std::string::npos && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_NE(Errors().find("pliant.toml: "), std::string::npos) << Errors();
  EXPECT_EQ(create("b").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  // flags take precedence over the file
  reload("max-worlds = 3\nmax-user-dofs = 1000\n");
  while (!create("b").ok() && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const grpc::Status third = create("c");
  EXPECT_EQ(third.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(third.error_message().find("has 10 of its 100 left"), std::string::npos)
      << third.error_message();
}

TEST_F(Trouble, SighupReadsTheQuotaOfUploadsAgain) {
  const std::string config = Write("pliant.toml", "max-uploads = \"1K\"\n");
  const auto server = Run({"--config", config, "--data-dir", Path("data")});
  const auto objects = v1::ObjectService::NewStub(Connect(server.get()));
  const auto upload = [&objects](std::int64_t size) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    v1::UploadObjectRequest request;
    request.set_sha256(std::string(64, 'a'));
    request.set_size(size);
    v1::UploadObjectResponse response;
    return objects->UploadObject(&context, request, &response).error_code();
  };
  EXPECT_EQ(upload(2000), grpc::StatusCode::RESOURCE_EXHAUSTED);
  Write("pliant.toml", "max-uploads = \"4K\"\n");
  server->Signal(SIGHUP);
  const auto end = Clock::now() + kProgramTimeout;
  while (upload(2000) != grpc::StatusCode::OK && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(upload(2000), grpc::StatusCode::OK);
  EXPECT_EQ(upload(5000), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(Trouble, HealthOfEachServiceIsReportedWithoutAToken) {
  const std::string tokens = Path("tokens.yaml");
  ASSERT_TRUE(AddToken(tokens, {"a", "viewer", "", ""}).ok());
  const auto server = Run({"--tokens", tokens});
  const auto health = grpc::health::v1::Health::NewStub(Connect(server.get()));
  std::set<std::string> services = {"", "none"};
  for (const Method& method : Methods())
    services.insert(method.name.substr(0, method.name.find('/')));
  EXPECT_EQ(services.size(), 7u);  // there are five services
  for (const std::string& service : services) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProgramTimeout);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = health->Check(&context, request, &response);
    if (service == "none") {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    } else {
      EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING) << service;
    }
  }
}

TEST_F(Trouble, OtherMachinesNeedTlsAndTokens) {
  const CertificateMaker authority("authority");
  const auto pair = authority.Make("server");
  const std::string cert = Write("cert.pem", pair.certificate), key = Write("key.pem", pair.key);
  ASSERT_TRUE(AddToken(Path("tokens.yaml"), {"a", "viewer", "", ""}).ok());
  const std::vector<std::string> all = {"--bind",    "0.0.0.0", "--tls-cert", cert,
                                        "--tls-key", key,       "--tokens",   Path("tokens.yaml")};
  const auto without = [&all](std::size_t from, std::size_t count) {
    std::vector<std::string> rest = all;
    rest.erase(rest.begin() + from, rest.begin() + from + count);
    return rest;
  };
  for (const auto& flags : {without(2, 6), without(6, 2), without(2, 4)}) {
    const auto server = Run(flags);
    EXPECT_EQ(server->Wait(), 2) << Errors();
    EXPECT_NE(Errors().find("--insecure"), std::string::npos) << Errors();
  }
  for (const auto& flags : {all, std::vector<std::string>{"--bind", "0.0.0.0", "--insecure"}}) {
    const auto server = Run(flags);
    EXPECT_NE(server->ReadLine().find("\"ready\": true"), std::string::npos) << Errors();
    server->Signal(SIGTERM);
    EXPECT_EQ(server->Wait(), 0) << Errors();
  }
}

TEST_F(Trouble, ExpiredCertificateIsAnErrorOfTheEnvironment) {
  const auto pair = CertificateMaker("authority").Make("server", -7200, -3600);
  const auto server = Run(
      {"--tls-cert", Write("cert.pem", pair.certificate), "--tls-key", Write("key.pem", pair.key)});
  EXPECT_EQ(server->Wait(), 4);
  EXPECT_NE(Errors().find("cert.pem: the certificate has expired at"), std::string::npos)
      << Errors();
}

TEST_F(Trouble, InstalledServerFindsItsScenesAndItsPage) {
  const fs::path build = fs::canonical("/proc/self/exe").parent_path().parent_path();
  const fs::path prefix = folder_ / "usr";
  ASSERT_EQ(std::system(absl::StrCat("cmake --install '", build.string(), "' --prefix '",
                                     prefix.string(), "' > /dev/null")
                            .c_str()),
            0);
  const fs::path viewer = prefix / "share/pliant/viewer";
  fs::create_directories(viewer);
  std::ofstream(viewer / "index.html") << "page";
  const auto server = std::make_unique<Program>(
      std::vector<std::string>{"serve", "--grpc-port", "0", "--http-port", "0"}, Path("stderr"), 0,
      prefix / "bin/pliantd");
  v1::ServerInfo info;
  ASSERT_TRUE(GetServer(Connect(server.get()), "", &info).ok());
  EXPECT_NE(std::find(info.shipped_scenes().begin(), info.shipped_scenes().end(), "soft_ball"),
            info.shipped_scenes().end());
  EXPECT_NE(Errors().find("viewer=yes"), std::string::npos) << Errors();
  EXPECT_EQ(
      std::system(absl::StrCat("'", prefix.string(), "/bin/pliant' --version > /dev/null").c_str()),
      0);
}

}  // namespace
}  // namespace pliant::server
