#pragma once

#include <cstdint>
#include <string>

namespace pliant::server {

class Handlers;

// Counts of the gateway itself.
struct GatewayCounts {
  int connections = 0;        // of HTTP
  int websockets = 0;         // clients
  std::uint64_t refused = 0;  // connections beyond the limits
  int grpc_connections = 0;
  std::uint64_t grpc_refused = 0;
  double certificate_expires = 0;  // since 1970 [s]; 0: no TLS
};

// Prometheus text of the server's state now (text/plain; version=0.0.4).
std::string WriteMetrics(Handlers& handlers, const GatewayCounts& gateway);

}  // namespace pliant::server
