#include "server/rpc/grpc_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "grpc/grpc.h"
#include "grpc/health/v1/health.pb.h"
#include "server/rpc/callers.h"
#include "server/rpc/method_service.h"

namespace pliant::server {
namespace {

// Services of the methods in the table, in its order.
std::vector<std::string> ListServices() {
  std::vector<std::string> names;
  for (const Method& method : Methods()) {
    const std::string service = method.name.substr(0, method.name.find('/'));
    if (std::find(names.begin(), names.end(), service) == names.end()) names.push_back(service);
  }
  return names;
}

constexpr std::size_t kMemoryQuota = std::size_t{512} << 20;

}  // namespace

GrpcServer::GrpcServer() = default;
GrpcServer::~GrpcServer() {
  Shutdown(std::chrono::milliseconds(0));
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(Handlers* handlers,
                                                              const std::string& bind, int port) {
  grpc::EnableDefaultHealthCheckService(true);
  // gRPC serves health without linking its descriptor, but reflection describes linked ones only
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<GrpcServer> server(new GrpcServer());
  server->callers_ = std::make_unique<Callers>(handlers);
  for (const std::string& name : ListServices())
    server->services_.push_back(
        std::make_unique<MethodService>(handlers, server->callers_.get(), name));

  grpc::ServerBuilder builder;
  const bool bracketed = bind.find(':') != std::string::npos && bind.front() != '[';
  const std::string address =
      bracketed ? absl::StrCat("[", bind, "]:", port) : absl::StrCat(bind, ":", port);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &server->port_);
  for (const auto& service : server->services_) builder.RegisterService(service.get());

  // without this, two servers could share a port and each get half of the calls
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  builder.SetMaxSendMessageSize(-1);
  grpc::ResourceQuota quota("pliant");
  builder.SetResourceQuota(quota.Resize(kMemoryQuota));

  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for gRPC"));
  }
  return server;
}

void GrpcServer::StopServing() {
  server_->GetHealthCheckService()->SetServingStatus(false);
}

void GrpcServer::Shutdown(std::chrono::milliseconds timeout) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + timeout);
  server_->Wait();
}

}  // namespace pliant::server
