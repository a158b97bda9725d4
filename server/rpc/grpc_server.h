#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace pliant::server {

class Callers;
class Certificates;
class Handlers;

// The gRPC server: services, health and reflection on one port, with TLS or without.
class GrpcServer {
 public:
  static constexpr int kMaxReceivedBytes = 4 << 20;

  struct Options {
    std::string bind = "127.0.0.1";
    int port = 0;                                      // 0: any free one
    std::shared_ptr<const Certificates> certificates;  // null: no TLS
    int max_connections_per_peer = 256;                // with calls under way
  };

  // UNAVAILABLE when the port is taken. `handlers` outlives the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Handlers* handlers,
                                                           const Options& options);
  ~GrpcServer();

  int port() const { return port_; }
  void StopServing();                                // health of every service is NOT_SERVING
  void Shutdown(std::chrono::milliseconds timeout);  // calls still open then are cancelled

 private:
  GrpcServer();
  std::shared_ptr<const Certificates> certificates_;
  std::unique_ptr<Callers> callers_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace pliant::server
