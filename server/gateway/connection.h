#pragma once

#include <utility>
#include <variant>

#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/ssl/context.hpp"
#include "boost/beast/core/tcp_stream.hpp"
#include "boost/beast/ssl/ssl_stream.hpp"
#include "boost/beast/websocket/ssl.hpp"
#include "boost/beast/websocket/teardown.hpp"

#include "server/connections/peers.h"

namespace pliant::server {

// A TCP connection of the gateway, with TLS or without. Beast reads and writes it as a stream, so
// the sessions are the same for both.
class Connection {
 public:
  using next_layer_type = boost::beast::tcp_stream;
  using executor_type = next_layer_type::executor_type;

  // `tls` is null for a connection without TLS.
  Connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
             Peers::Place place)
      : place_(std::move(place)), stream_(Make(std::move(socket), tls)) {}

  // Deadlines and the socket are those of the TCP stream.
  next_layer_type& next_layer() {
    Encrypted* tls = std::get_if<Encrypted>(&stream_);
    return tls != nullptr ? tls->next_layer() : std::get<next_layer_type>(stream_);
  }
  executor_type get_executor() { return next_layer().get_executor(); }

  // Calls handler(error) when TLS is established, or soon where there is none.
  template <typename Handler>
  void AsyncHandshake(Handler&& handler) {
    if (Encrypted* tls = std::get_if<Encrypted>(&stream_)) {
      return tls->async_handshake(boost::asio::ssl::stream_base::server,
                                  std::forward<Handler>(handler));
    }
    boost::asio::post(get_executor(), [handler = std::forward<Handler>(handler)]() mutable {
      handler(boost::beast::error_code());
    });
  }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    std::visit(
        [&](auto& stream) { stream.async_read_some(buffers, std::forward<Handler>(handler)); },
        stream_);
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    std::visit(
        [&](auto& stream) { stream.async_write_some(buffers, std::forward<Handler>(handler)); },
        stream_);
  }

  // Called by Beast to end the stream of a WebSocket.
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, Connection& connection,
                             Handler&& handler) {
    std::visit(
        [&](auto& stream) {
          using boost::beast::async_teardown;
          using boost::beast::websocket::async_teardown;
          async_teardown(role, stream, std::forward<Handler>(handler));
        },
        connection.stream_);
  }

 private:
  using Encrypted = boost::beast::ssl_stream<next_layer_type>;
  using Stream = std::variant<next_layer_type, Encrypted>;

  static Stream Make(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls) {
    next_layer_type plain(std::move(socket));
    if (tls == nullptr) return plain;
    return Encrypted(std::move(plain), *tls);
  }

  Peers::Place place_;
  Stream stream_;
};

}  // namespace pliant::server
