#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "boost/asio/connect.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/websocket.hpp"
#include "gtest/gtest.h"

#include "pliant/v1/gateway.pb.h"

namespace pliant::server {

// The browser's end of a WebSocket, independent of the server's code. A read that waits longer than
// `timeout` fails.
class SocketClient {
 public:
  using Stream = boost::beast::websocket::stream<boost::asio::ip::tcp::socket, false>;

  static boost::asio::ip::tcp::socket Connect(boost::asio::io_context* io, int port,
                                              std::chrono::seconds timeout) {
    boost::asio::ip::tcp::socket socket(*io);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(port)});
    const timeval limit{timeout.count(), 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return socket;
  }

  SocketClient(boost::asio::io_context* io, int port, std::chrono::seconds timeout)
      : stream_(Connect(io, port, timeout)) {
    stream_.set_option(boost::beast::websocket::stream_base::decorator(
        [](boost::beast::websocket::request_type& request) {
          request.set(boost::beast::http::field::sec_websocket_protocol, "pliant.v1");
        }));
    stream_.handshake("127.0.0.1:" + std::to_string(port), "/ws");
    stream_.binary(true);
  }

  Stream& stream() { return stream_; }

  void Send(const v1::ClientMessage& message) {
    stream_.write(boost::asio::buffer(message.SerializeAsString()));
  }
  v1::ServerMessage Receive() {
    boost::beast::flat_buffer buffer;
    stream_.read(buffer);
    v1::ServerMessage message;
    EXPECT_TRUE(message.ParseFromArray(buffer.data().data(), static_cast<int>(buffer.size())));
    return message;
  }
  // Sends a request and returns its reply, skipping frames and other messages in between.
  v1::ServerMessage Ask(v1::ClientMessage message) {
    message.set_request_id(++next_);
    Send(message);
    while (true) {
      v1::ServerMessage reply = Receive();
      if (reply.request_id() == message.request_id()) return reply;
    }
  }

  // Calls a method by name. An error is returned in `status`.
  template <typename Response, typename Request>
  Response Call(const std::string& method, const Request& request,
                google::rpc::Status* status = nullptr) {
    v1::ClientMessage message;
    message.mutable_call()->set_method("pliant.v1." + method);
    message.mutable_call()->set_request(request.SerializeAsString());
    const v1::ServerMessage reply = Ask(message);
    if (status != nullptr) *status = reply.status();
    EXPECT_TRUE(status != nullptr || reply.status().code() == 0) << reply.status().message();
    Response response;
    EXPECT_TRUE(response.ParseFromString(reply.reply()));
    return response;
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 100;
};

}  // namespace pliant::server
