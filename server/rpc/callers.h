#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/service/call.h"

namespace grpc {
class ServerContextBase;
}

namespace pliant::server {

class Connections;
class Handlers;

// Callers of the gRPC server: one for each connection with calls in progress and each token that it
// uses.
class Callers {
 public:
  // Both outlive the callers.
  Callers(const Handlers* handlers, const Connections* connections)
      : handlers_(handlers), connections_(connections) {}

  // Caller, deadline and connection of a call. `cancelled` is set when the call is cancelled.
  Call MakeCall(const grpc::ServerContextBase& context,
                std::shared_ptr<const std::atomic<bool>> cancelled);

  // Counts the unary calls in progress. EnterUnary returns their number, including the new one.
  int EnterUnary() { return unary_.fetch_add(1) + 1; }
  void LeaveUnary() { unary_.fetch_sub(1); }

 private:
  std::shared_ptr<Caller> Find(const std::string& peer, Identity identity);

  const Handlers* const handlers_;
  const Connections* const connections_;
  std::atomic<int> unary_{0};
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Caller>> callers_;  // by connection and token
  std::size_t sweep_at_ = 64;  // size at which entries without calls are removed
};

}  // namespace pliant::server
