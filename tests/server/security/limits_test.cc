// Limits that keep one client from using up the resources of all.

#include <array>

#include "boost/asio/io_context.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "gmock/gmock.h"

#include "server/service/call.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

class Limits : public ServerTest {
 protected:
  static constexpr int kMaxConnections = 3;

  void Configure(ServeOptions* options) override {
    options->max_connections_per_peer = kMaxConnections;
  }
  std::unique_ptr<SocketClient> OpenSocket() {
    return std::make_unique<SocketClient>(&io_, server_->http_port(), kTimeout);
  }
  bool CanOpenSocket() {
    try {
      OpenSocket();
      return true;
    } catch (const boost::system::system_error&) {
      return false;
    }
  }

  // A connection to the gRPC port from another address of this machine, which says nothing.
  boost::asio::ip::tcp::socket ConnectFrom(const char* address) {
    using boost::asio::ip::make_address, boost::asio::ip::tcp;
    tcp::socket socket(io_, tcp::endpoint(make_address(address), 0));
    socket.connect(tcp::endpoint(make_address("127.0.0.1"),
                                 static_cast<unsigned short>(server_->grpc_port())));
    const timeval limit{kTimeout.count(), 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return socket;
  }
  // True if the server closes the connection within 10 s, before it is closed for being idle.
  static bool IsClosedSoon(boost::asio::ip::tcp::socket& socket) {
    const auto start = std::chrono::steady_clock::now();
    boost::beast::error_code error;
    std::array<char, 4096> bytes{};
    while (!error) socket.read_some(boost::asio::buffer(bytes), error);
    return error != boost::asio::error::would_block &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(10);
  }
  // Closes the connection of the stubs.
  void LeaveGrpc() {
    worlds_.reset();
    streams_.reset();
    control_.reset();
    channel_.reset();
  }
  std::string FetchMetrics() {
    namespace http = boost::beast::http;
    boost::beast::tcp_stream stream(SocketClient::Connect(&io_, server_->http_port(), kTimeout));
    http::request<http::empty_body> request{http::verb::get, "/metrics", 11};
    request.set(http::field::host, "127.0.0.1");
    http::write(stream, request);
    boost::beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(stream, buffer, response);
    return response.body();
  }

  boost::asio::io_context io_;
};

TEST_F(Limits, IdleGrpcConnectionsCountAndTheRefusalSaysWhy) {
  std::vector<boost::asio::ip::tcp::socket> idle;
  for (int i = 0; i < kMaxConnections; ++i) idle.push_back(ConnectFrom("127.0.0.1"));
  const grpc::Status refused = Visit(server_->grpc_address());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("--max-connections-per-peer"));
  const std::string metrics = FetchMetrics();
  EXPECT_THAT(metrics, testing::HasSubstr("\npliant_grpc_connections 3\n"));
  EXPECT_THAT(metrics, testing::HasSubstr("pliant_connections_refused_total{port=\"grpc\"} 1\n"));
  idle.pop_back();
  EXPECT_TRUE(WaitUntil([this] { return Visit(server_->grpc_address()).ok(); }));
}

TEST_F(Limits, PeerWithTooManyGrpcConnectionsHarmsNobodyElse) {
  constexpr int kFlood = 200;  // more than are answered before they are closed
  std::vector<boost::asio::ip::tcp::socket> flood;
  for (int i = 0; i < kFlood; ++i) flood.push_back(ConnectFrom("127.0.0.2"));
  const grpc::Status other = Visit(server_->grpc_address());
  EXPECT_TRUE(other.ok()) << other.error_message();
  int closed = 0;
  for (int i = kMaxConnections; i < kFlood; ++i) closed += IsClosedSoon(flood[i]);
  EXPECT_EQ(closed, kFlood - kMaxConnections);
}

TEST_F(Limits, TenThousandGrpcConnectionsThatComeAndGoLeaveTheirPlaces) {
  for (int i = 0; i < 10'000; ++i) ConnectFrom("127.0.0.2");
  EXPECT_TRUE(WaitUntil([this] {
    return FetchMetrics().find("\npliant_grpc_connections 0\n") != std::string::npos;
  }));
  EXPECT_TRUE(Visit(server_->grpc_address()).ok());
}

class TotalLimit : public Limits {
 protected:
  void Configure(ServeOptions* options) override { options->max_connections = 4; }
};

TEST_F(TotalLimit, GrpcConnectionsOfAllPeersTogetherAreBounded) {
  std::vector<boost::asio::ip::tcp::socket> idle;
  for (const char* peer : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"})
    idle.push_back(ConnectFrom(peer));
  const grpc::Status refused = Visit(server_->grpc_address());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("--max-connections bounds"));
  idle.pop_back();
  EXPECT_TRUE(WaitUntil([this] { return Visit(server_->grpc_address()).ok(); }));
}

class ShortLives : public Limits {
 protected:
  void Configure(ServeOptions* options) override { options->max_connection_idle = 1; }
};

TEST_F(ShortLives, GrpcConnectionWithoutCallsIsClosed) {
  ASSERT_TRUE(Create("w").ok());
  const auto connections = [this] { return FetchMetrics().find("\npliant_grpc_connections 0\n"); };
  EXPECT_TRUE(WaitUntil([&] { return connections() != std::string::npos; }));
  EXPECT_TRUE(Create("v").ok());  // clients come back by themselves
}

TEST_F(Limits, SocketsOfOnePeerAreBoundedAndAPlaceIsFreeAgain) {
  std::vector<std::unique_ptr<SocketClient>> sockets;
  for (int i = 0; i < kMaxConnections; ++i) sockets.push_back(OpenSocket());
  EXPECT_FALSE(CanOpenSocket());
  for (const auto& socket : sockets)
    socket->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
  sockets.pop_back();
  EXPECT_TRUE(WaitUntil([this] { return CanOpenSocket(); }));
}

TEST_F(Limits, GrpcConnectionsOfOnePeerAreBoundedAndAPlaceIsFreeAgain) {
  ASSERT_TRUE(Create("w").ok());
  LeaveGrpc();
  struct Watcher {
    std::unique_ptr<v1::StreamService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::SubscribeRequest, v1::SubscribeResponse>> stream;
    bool open = false;
    ~Watcher() {
      if (!open) return;
      context.TryCancel();
      stream->Finish();
    }
  };
  const auto watch = [this](std::unique_ptr<Watcher>* kept) {
    auto watcher = std::make_unique<Watcher>();
    watcher->stub = v1::StreamService::NewStub(Connect(server_->grpc_address()));
    watcher->context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    watcher->stream = watcher->stub->Subscribe(&watcher->context);
    v1::SubscribeRequest request;
    request.mutable_subscription()->set_world("worlds/w");
    watcher->stream->Write(request);
    v1::SubscribeResponse response;
    if (!watcher->stream->Read(&response)) return watcher->stream->Finish();
    watcher->open = true;
    *kept = std::move(watcher);
    return grpc::Status::OK;
  };
  std::vector<std::unique_ptr<Watcher>> watchers(kMaxConnections);
  // the connection that created the world counts until the server has closed it
  for (auto& watcher : watchers) ASSERT_TRUE(WaitUntil([&] { return watch(&watcher).ok(); }));
  std::unique_ptr<Watcher> more;
  EXPECT_EQ(watch(&more).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  watchers.pop_back();
  EXPECT_TRUE(WaitUntil([&] { return watch(&more).ok(); }));
}

TEST_F(Limits, ClientThatFloodsIsRefusedAlone) {
  const auto flooding = OpenSocket();
  const auto other = OpenSocket();
  v1::ClientMessage subscribe;
  subscribe.set_request_id(1);
  subscribe.mutable_subscribe()->mutable_subscription()->set_world("worlds/none");
  constexpr int kAtOnce = 100;  // replies that wait to be read are bounded, too
  int answered = 0, refused = 0;
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (refused == 0 && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < kAtOnce; ++i) flooding->Send(subscribe);
    for (int i = 0; i < kAtOnce; ++i) {
      const int code = flooding->Receive().status().code();
      refused += code == static_cast<int>(absl::StatusCode::kResourceExhausted);
      answered += code == static_cast<int>(absl::StatusCode::kNotFound);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GE(answered, kMaxCostPerSecond / 100);  // each costs 100
  other->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
}

}  // namespace
}  // namespace pliant::server
