// Sockets whose client has vanished or never reads.

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/read.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "gtest/gtest.h"

#include "server/gateway/http_gateway.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

class SilentSocket : public testing::Test {
 protected:
  void SetUp() override {
    HttpGateway::Options options;
    options.idle_timeout = std::chrono::seconds(2);
    auto gateway = HttpGateway::Start(&handlers_, options);
    ASSERT_TRUE(gateway.ok()) << gateway.status();
    gateway_ = *std::move(gateway);
  }

  // A WebSocket after its handshake, as plain bytes.
  tcp::socket Open() {
    tcp::socket socket(io_);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"),
                    static_cast<unsigned short>(gateway_->port())});
    const timeval limit{60, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    http::request<http::empty_body> request{http::verb::get, "/ws", 11};
    request.set(http::field::host, "127.0.0.1");
    request.set(http::field::upgrade, "websocket");
    request.set(http::field::connection, "upgrade");
    request.set(http::field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
    request.set(http::field::sec_websocket_version, "13");
    request.set(http::field::sec_websocket_protocol, "pliant.v1");
    http::write(socket, request);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::empty_body> parser;
    http::read_header(socket, buffer, parser);
    EXPECT_EQ(parser.get().result_int(), 101u);
    return socket;
  }

  Handlers handlers_{Handlers::Options{}};
  std::unique_ptr<HttpGateway> gateway_;
  boost::asio::io_context io_;
};

TEST_F(SilentSocket, IsPingedAndThenClosed) {
  const auto start = std::chrono::steady_clock::now();  // before the server's own
  tcp::socket socket = Open();
  std::string received;
  boost::beast::error_code error;
  std::array<char, 256> bytes{};
  while (!error) {
    const std::size_t size = socket.read_some(boost::asio::buffer(bytes), error);
    received.append(bytes.data(), size);
  }
  EXPECT_TRUE(error == boost::asio::error::eof || error == boost::asio::error::connection_reset)
      << error.message();
  EXPECT_EQ(received.substr(0, 1), "\x89");  // a ping
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(SilentSocket, ThatAnswersPingsStays) {
  tcp::socket socket = Open();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  boost::beast::error_code error;
  while (std::chrono::steady_clock::now() < end) {
    std::array<char, 2> ping{};
    boost::asio::read(socket, boost::asio::buffer(ping), error);
    ASSERT_FALSE(error) << error.message();
    ASSERT_EQ(ping, (std::array<char, 2>{'\x89', '\0'}));
    boost::asio::write(socket, boost::asio::buffer("\x8a\x80\0\0\0\0", 6));  // a masked pong
  }
}

}  // namespace
}  // namespace pliant::server
