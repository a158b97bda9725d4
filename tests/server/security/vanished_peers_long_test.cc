// Peers that vanish without a word, as when a cable is unplugged: half-open connections.

#include <filesystem>
#include <string>

#include "boost/asio/io_context.hpp"
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "server/service/handlers.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

// Drops all incoming packets, acknowledgements included, on the sockets of this process that are
// connected to `port`, so that the peer sees this end vanish. Returns the number of sockets.
int VanishFrom(int port) {
  sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &drop_all};
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    // sin_port and sin6_port have the same offset
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        (peer.sin6_family != AF_INET && peer.sin6_family != AF_INET6) ||
        ntohs(peer.sin6_port) != port)
      continue;
    EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
    ++count;
  }
  return count;
}

class VanishedPeers : public ServerTest {
 protected:
  boost::asio::io_context io_;
};

TEST_F(VanishedPeers, LoseTheirLeasesAndTheirStreams) {
  ASSERT_TRUE(Create("w").ok());
  ASSERT_TRUE(RunInRealTime("w").ok());
  v1::Lease lease;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &lease).ok());
  grpc::ClientContext driving, watching;
  const auto commands = control_->Command(&driving);
  v1::CommandRequest command;
  command.set_world("worlds/w");
  command.set_lease_id(lease.lease_id());
  command.set_sequence(1);
  command.mutable_twist()->add_linear(0.1);
  command.mutable_twist()->add_linear(0);
  command.mutable_twist()->add_linear(0);
  ASSERT_TRUE(commands->Write(command));
  v1::CommandResponse response;
  ASSERT_TRUE(commands->Read(&response));
  EXPECT_EQ(response.refused(), "");

  const auto frames = streams_->Subscribe(&watching);
  v1::SubscribeRequest subscription;
  subscription.mutable_subscription()->set_world("worlds/w");
  ASSERT_TRUE(frames->Write(subscription));
  v1::SubscribeResponse frame;
  ASSERT_TRUE(frames->Read(&frame));
  SocketClient page(&io_, server_->http_port(), kTimeout);
  v1::ClientMessage hello, subscribe;
  hello.mutable_hello()->set_client("page");
  ASSERT_TRUE(page.Ask(hello).has_welcome());
  *subscribe.mutable_subscribe() = subscription;
  page.Send(subscribe);
  const auto open = [this] { return server_->handlers().stream_counters().open.load(); };
  ASSERT_TRUE(WaitUntil([&] { return open() == 2; }));

  EXPECT_GT(VanishFrom(server_->grpc_port()), 0);
  EXPECT_EQ(VanishFrom(server_->http_port()), 1);
  // the lease expires, and another client acquires the paddle without a takeover
  const auto alive = v1::ControlService::NewStub(Connect(server_->grpc_address()));
  EXPECT_TRUE(WaitUntil([&] {
    grpc::ClientContext context;
    v1::AcquireLeaseRequest request;
    request.set_world("worlds/w");
    request.set_target("paddle");
    return alive->AcquireLease(&context, request, &lease).ok();
  }));
  EXPECT_EQ(open(), 2);  // the connections are not given up yet
  EXPECT_TRUE(WaitUntil([&] { return open() == 0; }));
  driving.TryCancel();
  watching.TryCancel();
  commands->Finish();
  frames->Finish();
}

}  // namespace
}  // namespace pliant::server
