#pragma once

#include <string>

namespace pliant::server {

class Handlers;

// What the gateway itself adds.
struct GatewayCounts {
  int connections = 0;             // of HTTP
  int websockets = 0;              // clients
  double certificate_expires = 0;  // since 1970 [s]; 0: no TLS
};

// Prometheus text of the server's state now (text/plain; version=0.0.4).
std::string WriteMetrics(Handlers& handlers, const GatewayCounts& gateway);

}  // namespace pliant::server
