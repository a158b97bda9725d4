#pragma once

#include <memory>

#include "boost/asio/ip/tcp.hpp"

#include "server/gateway/gateway_context.h"

namespace pliant::server {

// Serves one HTTP connection until it closes or becomes a WebSocket. `context` outlives it.
void ServeConnection(boost::asio::ip::tcp::socket socket, GatewayContext* context);

}  // namespace pliant::server
