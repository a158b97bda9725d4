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
class Handlers;

// The gRPC server: services, health and reflection on one port, without TLS.
class GrpcServer {
 public:
  static constexpr int kMaxReceivedBytes = 4 << 20;

  // Port 0: any free one. UNAVAILABLE when the port is taken. `handlers` outlives the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Handlers* handlers,
                                                           const std::string& bind, int port);
  ~GrpcServer();

  int port() const { return port_; }
  void StopServing();                                // health reports NOT_SERVING
  void Shutdown(std::chrono::milliseconds timeout);  // calls still open then are cancelled

 private:
  GrpcServer();
  std::unique_ptr<Callers> callers_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace pliant::server
