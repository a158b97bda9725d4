#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

#include "server/connections/peers.h"

namespace grpc::experimental {
class ExternalConnectionAcceptor;
}

namespace pliant::server {

// Accepts the connections of the gRPC port on a separate thread, and hands them to gRPC, which
// cannot count them. A connection beyond the limits is served for a short time, in which its calls
// are refused with the reason, and is then closed.
class Connections {
 public:
  struct Limits {
    int total;
    int per_peer;
  };

  // Listens on an address of either family. UNAVAILABLE when the port is taken, INVALID_ARGUMENT
  // when `bind` is not an address.
  static absl::StatusOr<std::unique_ptr<Connections>> Listen(
      const std::string& bind, int port, const Limits& limits,
      std::shared_ptr<ConnectionCounters> counters);
  ~Connections();

  int port() const { return port_; }
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  void Stop();  // accepts no more; connections stay open. Idempotent

  // RESOURCE_EXHAUSTED for a connection beyond the limits. `peer` as gRPC names it. From any
  // thread.
  absl::Status Check(const std::string& peer) const;

 private:
  struct Connection;

  Connections(int listener, int port, const Limits& limits,
              std::shared_ptr<ConnectionCounters> counters);
  void Run();
  void Accept();
  void Admit(int socket);
  void Forget(int number);
  void CloseRefused();

  const int listener_;
  const int port_;
  const Limits limits_;
  const std::shared_ptr<ConnectionCounters> counters_;
  const int events_;  // epoll
  const int wake_;    // eventfd that ends the thread
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;

  // used on the thread only
  Peers peers_;
  std::map<int, Connection> open_;  // by descriptors of their own

  mutable std::mutex mutex_;
  std::map<std::string, std::string> refused_;  // peers, with the reason
  std::atomic<int> refused_count_{0};
  std::thread thread_;
};

}  // namespace pliant::server
