#pragma once

#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

namespace pliant::benchmarks {

using GatewaySocket = boost::beast::websocket::stream<boost::asio::ip::tcp::socket, false>;

// A connection to `address`, HOST:PORT with a numeric host. Throws boost::system::system_error.
inline boost::asio::ip::tcp::socket ConnectTcp(const std::string& address,
                                               boost::asio::io_context* io) {
  boost::asio::ip::tcp::socket socket(*io);
  const std::size_t colon = address.rfind(':');
  socket.connect({boost::asio::ip::make_address(address.substr(0, colon)),
                  static_cast<unsigned short>(std::stoi(address.substr(colon + 1)))});
  return socket;
}

// A WebSocket to the server's gateway at `address`, HOST:PORT, after its handshake. Throws
// boost::system::system_error where the server does not answer.
inline GatewaySocket OpenGatewaySocket(const std::string& address, boost::asio::io_context* io) {
  namespace websocket = boost::beast::websocket;
  GatewaySocket stream(ConnectTcp(address, io));
  stream.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
    request.set(boost::beast::http::field::sec_websocket_protocol, "pliant.v1");
  }));
  stream.handshake(address, "/ws");
  return stream;
}

}  // namespace pliant::benchmarks
