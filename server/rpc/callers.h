#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/service/call.h"

namespace grpc {
class CallbackServerContext;
}

namespace pliant::server {

class Handlers;

// Callers of the gRPC server: one for each connection that has calls under way, and for each token
// that it uses.
class Callers {
 public:
  // `handlers` outlives the callers.
  explicit Callers(const Handlers* handlers) : handlers_(handlers) {}

  // Caller, deadline and connection of a call. `cancelled` is set when the call is cancelled.
  Call MakeCall(const grpc::CallbackServerContext& context,
                std::shared_ptr<const std::atomic<bool>> cancelled);

 private:
  std::shared_ptr<Caller> Find(const std::string& peer, Identity identity);

  const Handlers* const handlers_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Caller>> callers_;  // by connection and token
  std::size_t sweep_at_ = 64;  // size at which entries without calls are removed
};

}  // namespace pliant::server
