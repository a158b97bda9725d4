#include "server/rpc/grpc_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "spdlog/spdlog.h"

#include "grpc/grpc.h"
#include "grpc/support/log.h"
#include "server/auth/certificates.h"
#include "server/host/text.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/callers.h"
#include "server/rpc/connections.h"
#include "server/rpc/health.h"
#include "server/rpc/method_calls.h"
#include "server/rpc/reflection.h"

namespace pliant::server {
namespace {

constexpr int kReceiveWindow = 1 << 20;  // unread data that a client may send [B]
constexpr std::size_t kMemoryQuota = std::size_t{512} << 20;
constexpr int kAgeGraceMs = 10'000;  // time for the calls of a connection that is too old to end
constexpr unsigned kRefreshSeconds = 1;

int ToMs(std::chrono::milliseconds time) {
  return static_cast<int>(time.count());
}

// Messages of gRPC mostly concern clients, such as failed handshakes, and must not fill the log.
void LogFromGrpc(gpr_log_func_args* what) {
  spdlog::debug("event=grpc reason=\"{}\"", what->message);
}

// Credentials that follow the certificates when they change; without certificates, no TLS.
std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const Certificates* certificates) {
  if (certificates == nullptr) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  const bool asks = certificates->asks_clients();
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      certificates->key_path(), certificates->chain_path(),
      asks ? certificates->client_ca_path() : "", kRefreshSeconds));
  options.watch_identity_key_cert_pairs();
  if (asks) options.watch_root_certs();
  options.set_cert_request_type(asks ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                     : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(options);
}

}  // namespace

GrpcServer::GrpcServer() = default;
GrpcServer::~GrpcServer() {
  Shutdown(std::chrono::milliseconds(0));
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(Handlers* handlers,
                                                              const Options& options) {
  gpr_set_log_function(LogFromGrpc);
  std::unique_ptr<GrpcServer> server(new GrpcServer());
  auto connections = Connections::Listen(
      options.bind, options.port, {options.max_connections, options.max_connections_per_peer},
      options.counters);
  if (!connections.ok()) return connections.status();
  server->connections_ = *std::move(connections);
  server->callers_ = std::make_unique<Callers>(handlers, server->connections_.get());
  server->AddMethods(handlers);

  grpc::ServerBuilder builder;
  server->certificates_ = options.certificates;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      MakeCredentials(options.certificates.get()));
  server->calls_ = std::make_unique<CallQueue>(&builder);

  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
  // disable the probes that would adapt the receive window by pings on each connection
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kReceiveWindow);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ToMs(options.max_idle));
  if (options.max_age.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMs(options.max_age));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kAgeGraceMs);
  }
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  builder.SetMaxSendMessageSize(-1);
  grpc::ResourceQuota quota("pliant");
  builder.SetResourceQuota(quota.Resize(kMemoryQuota));

  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return absl::UnavailableError("gRPC does not start");
  server->calls_->Start([own = server.get()](std::unique_ptr<Arrival> arrival) {
    own->ServeCall(std::move(arrival));
  });
  server->connections_->Start(std::move(acceptor));
  return server;
}

// Adds the methods of the table, of health and of reflection.
void GrpcServer::AddMethods(Handlers* handlers) {
  for (const Method& method : Methods()) {
    const std::string service = method.name.substr(0, method.name.find('/'));
    if (std::ranges::find(services_, service) == services_.end()) services_.push_back(service);
    Serve& serve = methods_["/" + method.name];
    if (method.name == kSubscribeMethod) {
      serve = [=, this](auto arrival) {
        ServeSubscribe(handlers, callers_.get(), std::move(arrival));
      };
    } else if (method.name == kCommandMethod) {
      serve = [=, this](auto arrival) {
        ServeCommand(handlers, callers_.get(), std::move(arrival));
      };
    } else if (method.name == kLockstepMethod) {
      serve = [=, this](auto arrival) {
        ServeLockstep(handlers, callers_.get(), std::move(arrival));
      };
    } else {
      serve = [=, this, name = std::string_view(method.name)](auto arrival) {
        ServeUnary(handlers, callers_.get(), name, std::move(arrival));
      };
    }
  }
  health_ = std::make_unique<Health>(services_);
  for (const std::string_view method : {kCheckHealth, kReflect})
    services_.emplace_back(method.substr(0, method.find('/')));
  methods_[absl::StrCat("/", kCheckHealth)] = [this](auto arrival) {
    health_->ServeCheck(std::move(arrival));
  };
  methods_[absl::StrCat("/", kWatchHealth)] = [this](auto arrival) {
    health_->ServeWatch(std::move(arrival));
  };
  methods_[absl::StrCat("/", kReflect)] = [this](auto arrival) {
    ServeReflection(&services_, std::move(arrival));
  };
}

void GrpcServer::ServeCall(std::unique_ptr<Arrival> arrival) const {
  const std::string& path = arrival->context().method();
  const auto method = methods_.find(path);
  if (method != methods_.end()) return method->second(std::move(arrival));
  const absl::Status unknown =
      absl::UnimplementedError(absl::StrCat("there is no method \"", Shorten(path, 200), "\""));
  Refuse(std::move(arrival), unknown);
}

int GrpcServer::port() const {
  return connections_->port();
}

void GrpcServer::StopServing() {
  health_->StopServing();
}

void GrpcServer::Shutdown(std::chrono::milliseconds timeout) {
  if (server_ == nullptr) return;
  connections_->Stop();
  server_->Shutdown(std::chrono::system_clock::now() + timeout);
  server_->Wait();
  calls_->Stop();
}

}  // namespace pliant::server
