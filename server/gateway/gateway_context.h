#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/connections/pacing.h"
#include "server/connections/peers.h"
#include "server/gateway/static_files.h"
#include "server/gateway/tls.h"

namespace pliant::server {

class Handlers;
class WebSocketSession;

// State shared by all connections of the gateway. Used only on its thread, except the counters.
struct GatewayContext {
  Handlers* handlers;
  StaticFiles files;
  std::vector<std::string> allowed_origins;
  std::vector<std::string> allowed_hosts;
  bool loopback_only = true;
  std::string version;
  TlsSettings tls;
  Peers peers;
  Pacing pacing;
  std::chrono::seconds idle_timeout;
  int max_connections;
  std::shared_ptr<ConnectionCounters> counters;
  std::shared_ptr<const ConnectionCounters> grpc_counters;  // null: none
  std::uint64_t next_session = 1;
  std::map<std::uint64_t, std::weak_ptr<WebSocketSession>> sessions;
  std::atomic<int> connections{0};
  std::atomic<int> websockets{0};
};

}  // namespace pliant::server
