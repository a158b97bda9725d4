#pragma once

#include <memory>

#include "boost/beast/core/tcp_stream.hpp"
#include "boost/beast/http/message.hpp"
#include "boost/beast/http/string_body.hpp"

#include "server/gateway/gateway_context.h"

namespace pliant::server {

inline constexpr char kWebSocketProtocol[] = "pliant.v1";

// Serves one WebSocket (v1.ClientMessage in, v1.ServerMessage out, binary) until it closes.
// `request` is the upgrade request, already checked.
void ServeWebSocket(boost::beast::tcp_stream stream,
                    boost::beast::http::request<boost::beast::http::string_body> request,
                    GatewayContext* context);

// Closes the session because the server shuts down.
void CloseWebSocket(WebSocketSession& session);

}  // namespace pliant::server
