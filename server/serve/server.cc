#include "server/serve/server.h"

#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "oneapi/tbb/global_control.h"
#include "server/auth/authenticator.h"
#include "server/gateway/http_gateway.h"
#include "server/gateway/static_files.h"
#include "server/rpc/grpc_server.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kDrainTime{5000};
constexpr char kDefaultWorld[] = "default";

// The scenes beside this program, where it was installed or built.
std::string FindScenesFolder() {
  std::error_code error;
  const fs::path bin = fs::canonical("/proc/self/exe", error).parent_path();
  for (const char* place : {"../share/pliant/scenes", "../../../scenes"}) {
    const fs::path folder = fs::weakly_canonical(bin / place, error);
    if (!error && fs::is_directory(folder, error)) return folder.string();
  }
  return "";
}

// Adds to a port error how to choose another port.
absl::Status PortTaken(const absl::Status& status, const char* flag) {
  if (status.code() != absl::StatusCode::kUnavailable) return status;
  return absl::UnavailableError(absl::StrCat(
      std::string(status.message()),
      "\n    Another program, perhaps another Pliant, uses this port. Choose another with ", flag,
      " N; 0 chooses any free port."));
}

std::string CallableHost(const std::string& bind) {
  if (bind == "0.0.0.0" || bind == "::" || bind == "localhost") return "127.0.0.1";
  return bind.find(':') != std::string::npos ? absl::StrCat("[", bind, "]") : bind;
}

// Null when the server has no accounts.
absl::StatusOr<std::shared_ptr<Authenticator>> OpenAuthenticator(const ServeOptions& options) {
  if (options.tokens_file.empty() && options.jwt_keys.empty()) return nullptr;
  return Authenticator::Open(
      {options.tokens_file, {options.jwt_keys, options.jwt_audience, options.jwt_issuer}});
}

}  // namespace

struct Server::Parts {
  std::optional<oneapi::tbb::global_control> threads;
  std::string host;
  std::shared_ptr<Authenticator> authenticator;
  std::unique_ptr<Handlers> handlers;
  std::unique_ptr<HttpGateway> http;
  std::unique_ptr<GrpcServer> grpc;
  bool down = false;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServeOptions& options,
                                                      std::shared_ptr<const physics::Model> scene) {
  auto parts = std::make_unique<Parts>();
  parts->host = CallableHost(options.bind);
  std::shared_ptr<Store> store;
  if (!options.data_dir.empty()) {
    const auto interval = std::chrono::duration<double>(options.checkpoint_interval);
    auto opened = Store::Open({options.data_dir, &RealTimeline(),
                               std::chrono::duration_cast<SteadyTime::duration>(interval)});
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
  }
  if (options.threads > 0) {
    parts->threads.emplace(oneapi::tbb::global_control::max_allowed_parallelism, options.threads);
  }
  absl::StatusOr<std::shared_ptr<Authenticator>> authenticator = OpenAuthenticator(options);
  if (!authenticator.ok()) return authenticator.status();
  parts->authenticator = *std::move(authenticator);
  Handlers::Options service;
  service.quotas = options.quotas;
  service.scenes_folder = options.scenes_dir.empty() ? FindScenesFolder() : options.scenes_dir;
  service.version = options.version;
  service.authenticator = parts->authenticator;
  if (!options.data_dir.empty()) {
    absl::StatusOr<std::unique_ptr<ObjectStore>> objects =
        ObjectStore::Open({(fs::path(options.data_dir) / "objects").string(), options.max_uploads});
    if (!objects.ok()) return objects.status();
    service.objects = *std::move(objects);
  }
  service.store = std::move(store);
  parts->handlers = std::make_unique<Handlers>(std::move(service));
  parts->handlers->RecoverWorlds();

  HttpGateway::Options http;
  http.bind = options.bind;
  http.port = options.http_port;
  http.viewer_folder = options.viewer_dir.empty() ? FindViewerFolder() : options.viewer_dir;
  http.allowed_origins = options.allowed_origins;
  http.allowed_hosts = options.allowed_hosts;
  http.version = options.version;
  auto gateway = HttpGateway::Start(parts->handlers.get(), http);
  if (!gateway.ok()) return PortTaken(gateway.status(), "--http-port");
  parts->http = *std::move(gateway);
  auto grpc = GrpcServer::Start(parts->handlers.get(), options.bind, options.grpc_port);
  if (!grpc.ok()) return PortTaken(grpc.status(), "--grpc-port");
  parts->grpc = *std::move(grpc);

  if (scene != nullptr) {
    auto reservation = parts->handlers->registry().Reserve(kDefaultWorld);
    if (!reservation.ok()) return reservation.status();
    // start in real time, so that waiting pages see it run from its first frame
    auto host = parts->handlers->registry().Open(
        *std::move(reservation), physics::World(std::move(scene)), {ClockMode::Kind::kRealTime, 1});
    if (!host.ok()) return host.status();
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() {
  Shutdown();
}

std::string Server::grpc_address() const {
  return absl::StrCat(parts_->host, ":", grpc_port());
}
std::string Server::http_address() const {
  return absl::StrCat("http://", parts_->host, ":", http_port());
}
int Server::grpc_port() const {
  return parts_->grpc->port();
}
int Server::http_port() const {
  return parts_->http->port();
}
bool Server::has_viewer() const {
  return parts_->http->has_viewer();
}
Handlers& Server::handlers() {
  return *parts_->handlers;
}

void Server::Shutdown() {
  if (std::exchange(parts_->down, true)) return;
  spdlog::info("event=draining");
  parts_->grpc->StopServing();
  parts_->handlers->Drain();
  parts_->http->BeginShutdown();
  parts_->grpc->Shutdown(kDrainTime);
  parts_->handlers->Stop();
  parts_->http->Stop();
  spdlog::info("event=stopped");
}

}  // namespace pliant::server
