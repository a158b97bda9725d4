#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/service/call.h"

namespace grpc {
class ServerContextBase;
}

namespace pliant::server {

class Handlers;

// Callers of the gRPC server: one for each connection that has calls under way, and for each token
// that it uses.
class Callers {
 public:
  // `handlers` outlives the callers. One peer may have as many connections with calls under way.
  Callers(const Handlers* handlers, int max_per_peer)
      : handlers_(handlers), max_per_peer_(max_per_peer) {}

  // Caller, deadline and connection of a call. `cancelled` is set when the call is cancelled.
  Call MakeCall(const grpc::ServerContextBase& context,
                std::shared_ptr<const std::atomic<bool>> cancelled);

 private:
  // RESOURCE_EXHAUSTED when the peer has too many connections.
  absl::StatusOr<std::shared_ptr<Caller>> Find(const std::string& peer, Identity identity);
  int CountOfPeer(const std::string& peer);

  const Handlers* const handlers_;
  const int max_per_peer_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Caller>> callers_;  // by connection and token
  std::size_t sweep_at_ = 64;  // size at which entries without calls are removed
};

}  // namespace pliant::server
