#pragma once

#include "server/gateway/connection.h"
#include "server/gateway/gateway_context.h"

namespace pliant::server {

// Serves one HTTP connection until it closes or becomes a WebSocket. `context` outlives it.
void ServeConnection(Connection connection, GatewayContext* context);

}  // namespace pliant::server
