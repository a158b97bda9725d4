#pragma once

#include <string>

namespace pliant::server {

class Handlers;

// Prometheus text of the server's state now (text/plain; version=0.0.4).
std::string WriteMetrics(Handlers& handlers, int websocket_clients);

}  // namespace pliant::server
