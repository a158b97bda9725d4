// One client cannot take what belongs to all.

#include "boost/asio/io_context.hpp"
#include "boost/beast/core.hpp"

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
    return std::make_unique<SocketClient>(&io_, server_->http_port(), kPatience);
  }
  bool CanOpenSocket() {
    try {
      OpenSocket();
      return true;
    } catch (const boost::system::system_error&) {
      return false;
    }
  }

  boost::asio::io_context io_;
};

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
  // each has a connection of its own
  const auto watch = [this](std::unique_ptr<Watcher>* kept) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto watcher = std::make_unique<Watcher>();
    watcher->stub = v1::StreamService::NewStub(grpc::CreateCustomChannel(
        server_->grpc_address(), grpc::InsecureChannelCredentials(), arguments));
    watcher->context.set_deadline(std::chrono::system_clock::now() + kPatience);
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
  // the connection that created the world counts until its call has ended on the server
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
  const auto end = std::chrono::steady_clock::now() + kPatience;
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
