#pragma once

#include "boost/beast/http/message.hpp"
#include "boost/beast/http/string_body.hpp"

#include "server/gateway/connection.h"
#include "server/gateway/gateway_context.h"

namespace pliant::server {

inline constexpr char kWebSocketProtocol[] = "pliant.v1";

// Serves one WebSocket (v1.ClientMessage in, v1.ServerMessage out, binary) until it closes.
// `request` is the upgrade request, already checked.
void ServeWebSocket(Connection connection,
                    boost::beast::http::request<boost::beast::http::string_body> request,
                    GatewayContext* context);

// Closes the session because the server shuts down.
void CloseWebSocket(WebSocketSession& session);

}  // namespace pliant::server
