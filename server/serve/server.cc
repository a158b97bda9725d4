#include "server/serve/server.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "oneapi/tbb/global_control.h"
#include "server/auth/audit_log.h"
#include "server/auth/authenticator.h"
#include "server/auth/certificates.h"
#include "server/gateway/http_gateway.h"
#include "server/gateway/static_files.h"
#include "server/rpc/grpc_server.h"
#include "server/serve/build_id.h"
#include "server/service/handlers.h"
#include "server/uploads/object_store.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kDrainTime{5000};
constexpr std::chrono::seconds kRenewalInterval{2};
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

// Null when the server speaks no TLS.
absl::StatusOr<std::shared_ptr<Certificates>> OpenCertificates(const ServeOptions& options) {
  if (options.tls_cert.empty()) return nullptr;
  return Certificates::Open({options.tls_cert, options.tls_key, options.client_ca});
}

// Null when there is no place for a log.
absl::StatusOr<std::shared_ptr<AuditLog>> OpenAuditLog(const ServeOptions& options) {
  std::string path = options.audit_log;
  if (path.empty() && !options.data_dir.empty())
    path = (fs::path(options.data_dir) / "audit.log").string();
  if (path.empty()) return nullptr;
  return AuditLog::Open(path);
}

std::vector<std::string> ListFeatures(const ServeOptions& options, bool has_audit) {
  std::vector<std::string> features;
  if (!options.tls_cert.empty()) features.push_back("tls");
  if (!options.client_ca.empty()) features.push_back("mutual_tls");
  if (!options.tokens_file.empty()) features.push_back("tokens");
  if (!options.jwt_keys.empty()) features.push_back("jwt");
  if (has_audit) features.push_back("audit");
  if (!options.data_dir.empty()) features.push_back("durable");
  return features;
}

// Makes a folder for uploads to a server without a data folder. Null, with a warning, if that
// fails.
std::unique_ptr<StagedFiles> MakeTemporaryFolder() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "pliantd-XXXXXX").string();
  if (!error && mkdtemp(path.data()) != nullptr) return std::make_unique<StagedFiles>(path);
  spdlog::warn("event=no_uploads reason=\"cannot make {}: {}\"", path,
               error ? error.message() : std::strerror(errno));
  return nullptr;
}

std::chrono::milliseconds ToMs(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds));
}

// Logs an error of files that were read again.
void Report(const char* what, const absl::Status& status) {
  if (!status.ok())
    spdlog::error("event=reload_failed files={} reason=\"{}\"", what,
                  std::string(status.message()));
}

}  // namespace

struct Server::Parts {
  std::optional<oneapi::tbb::global_control> threads;
  std::string host;
  std::shared_ptr<Authenticator> authenticator;
  std::shared_ptr<Certificates> certificates;
  std::function<absl::StatusOr<Quotas>()> read_quotas;
  std::unique_ptr<StagedFiles> temporary;  // uploads without a data folder
  std::unique_ptr<Handlers> handlers;
  std::unique_ptr<HttpGateway> http;
  std::unique_ptr<GrpcServer> grpc;
  std::unique_ptr<Timeline::Worker> renewing;  // reads certificates that have changed
  bool down = false;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServeOptions& options,
                                                      std::shared_ptr<const physics::Model> scene) {
  auto parts = std::make_unique<Parts>();
  parts->host = CallableHost(options.bind);
  parts->read_quotas = options.read_quotas;
  std::shared_ptr<Store> store;
  if (!options.data_dir.empty()) {
    const auto interval = std::chrono::duration<double>(options.checkpoint_interval);
    auto opened = Store::Open({options.data_dir, &RealTimeline(),
                               std::chrono::duration_cast<SteadyTime::duration>(interval),
                               options.keep_checkpoints});
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
  }
  if (options.threads > 0) {
    parts->threads.emplace(oneapi::tbb::global_control::max_allowed_parallelism, options.threads);
  }
  absl::StatusOr<std::shared_ptr<Authenticator>> authenticator = OpenAuthenticator(options);
  if (!authenticator.ok()) return authenticator.status();
  parts->authenticator = *std::move(authenticator);
  absl::StatusOr<std::shared_ptr<Certificates>> certificates = OpenCertificates(options);
  if (!certificates.ok()) return certificates.status();
  parts->certificates = *std::move(certificates);
  absl::StatusOr<std::shared_ptr<AuditLog>> audit = OpenAuditLog(options);
  if (!audit.ok()) return audit.status();
  Handlers::Options service;
  service.quotas = options.quotas;
  service.scenes_folder = options.scenes_dir.empty() ? FindScenesFolder() : options.scenes_dir;
  service.version = options.version;
  service.build = FindBuildId();
  service.features = ListFeatures(options, *audit != nullptr);
  service.authenticator = parts->authenticator;
  if (options.data_dir.empty()) parts->temporary = MakeTemporaryFolder();
  if (!options.data_dir.empty() || parts->temporary != nullptr) {
    const fs::path folder =
        parts->temporary ? parts->temporary->folder() : fs::path(options.data_dir);
    absl::StatusOr<std::unique_ptr<ObjectStore>> objects =
        ObjectStore::Open({(folder / "objects").string(), options.quotas.uploads});
    if (!objects.ok()) return objects.status();
    service.objects = *std::move(objects);
  }
  if (options.spin_lockstep > 0) {
    const auto pause = std::chrono::duration<double>(options.spin_lockstep);
    service.awake = std::make_shared<AwakeProcessors>(
        &RealTimeline(), std::chrono::duration_cast<SteadyTime::duration>(pause));
  }
  service.audit = *audit;
  service.store = std::move(store);
  parts->handlers = std::make_unique<Handlers>(std::move(service));
  parts->handlers->RecoverWorlds();
  // before anyone can connect: a client that came back would find no such world
  if (scene != nullptr) {
    auto reservation = parts->handlers->registry().Reserve(kDefaultWorld);
    if (!reservation.ok()) return reservation.status();
    // start in real time, so that waiting pages see it run from its first frame
    auto host = parts->handlers->registry().Open(
        *std::move(reservation), physics::World(std::move(scene)), {ClockMode::Kind::kRealTime, 1});
    if (!host.ok()) return host.status();
  }

  HttpGateway::Options http;
  http.bind = options.bind;
  http.port = options.http_port;
  http.viewer_folder = options.viewer_dir.empty() ? FindViewerFolder() : options.viewer_dir;
  http.allowed_origins = options.allowed_origins;
  http.allowed_hosts = options.allowed_hosts;
  http.version = options.version;
  http.certificates = parts->certificates;
  http.max_connections = options.max_connections;
  http.max_connections_per_peer = options.max_connections_per_peer;
  const auto grpc_counters = std::make_shared<ConnectionCounters>();
  http.grpc_counters = grpc_counters;
  auto gateway = HttpGateway::Start(parts->handlers.get(), http);
  if (!gateway.ok()) return PortTaken(gateway.status(), "--http-port");
  parts->http = *std::move(gateway);
  auto grpc = GrpcServer::Start(parts->handlers.get(),
                                {.bind = options.bind,
                                 .port = options.grpc_port,
                                 .certificates = parts->certificates,
                                 .max_connections = options.max_connections,
                                 .max_connections_per_peer = options.max_connections_per_peer,
                                 .max_idle = ToMs(options.max_connection_idle),
                                 .max_age = ToMs(options.max_connection_age),
                                 .counters = grpc_counters});
  if (!grpc.ok()) return PortTaken(grpc.status(), "--grpc-port");
  parts->grpc = *std::move(grpc);

  if (parts->certificates != nullptr) {
    parts->renewing = RealTimeline().Start(
        [certificates = parts->certificates, said = absl::Status()]() mutable {
          // a persistent error is reported once
          absl::Status status = certificates->Reload();
          if (status != said) Report("certificates", status);
          said = std::move(status);
          return RealTimeline().Now() + kRenewalInterval;
        },
        {"certificates"});
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
  const char* scheme = parts_->certificates == nullptr ? "http://" : "https://";
  return absl::StrCat(scheme, parts_->host, ":", http_port());
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

void Server::Reload() {
  if (parts_->authenticator != nullptr) Report("tokens", parts_->authenticator->Reload());
  if (parts_->certificates != nullptr) Report("certificates", parts_->certificates->Reload());
  if (!parts_->read_quotas) return;
  const absl::StatusOr<Quotas> quotas = parts_->read_quotas();
  Report("quotas", quotas.status());
  if (quotas.ok()) parts_->handlers->SetQuotas(*quotas);
}

void Server::Shutdown() {
  if (std::exchange(parts_->down, true)) return;
  if (parts_->renewing != nullptr) parts_->renewing->Stop();
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
