#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "server/connections/peers.h"

namespace grpc {
class Server;
}  // namespace grpc

namespace pliant::server {

class Arrival;
class CallQueue;
class Callers;
class Certificates;
class Connections;
class Handlers;
class Health;

// The gRPC server: services, health and reflection on one port, with TLS or without.
class GrpcServer {
 public:
  static constexpr int kMaxReceivedBytes = 4 << 20;

  struct Options {
    std::string bind = "127.0.0.1";
    int port = 0;                                      // 0: any free one
    std::shared_ptr<const Certificates> certificates;  // null: no TLS
    int max_connections = 1024;
    int max_connections_per_peer = 256;
    std::chrono::milliseconds max_idle{300'000};  // of a connection without calls
    std::chrono::milliseconds max_age{0};         // of a connection; 0: any
    std::shared_ptr<ConnectionCounters> counters = std::make_shared<ConnectionCounters>();
  };

  // UNAVAILABLE when the port is taken. `handlers` outlives the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Handlers* handlers,
                                                           const Options& options);
  ~GrpcServer();

  int port() const;
  void StopServing();                                // health of every service is NOT_SERVING
  void Shutdown(std::chrono::milliseconds timeout);  // cancels calls that are still open then

 private:
  using Serve = std::function<void(std::unique_ptr<Arrival>)>;

  GrpcServer();
  void AddMethods(Handlers* handlers);
  void ServeCall(std::unique_ptr<Arrival> arrival) const;

  std::shared_ptr<const Certificates> certificates_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Callers> callers_;
  std::vector<std::string> services_;  // as reflection lists them
  std::unique_ptr<Health> health_;
  absl::flat_hash_map<std::string, Serve> methods_;  // by their paths
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<CallQueue> calls_;
};

}  // namespace pliant::server
