#include "server/gateway/http_gateway.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "spdlog/spdlog.h"

#include "server/auth/certificates.h"
#include "server/gateway/connection.h"
#include "server/gateway/gateway_context.h"
#include "server/gateway/http_session.h"
#include "server/gateway/websocket_session.h"

namespace pliant::server {
namespace {

namespace net = boost::asio;
using tcp = net::ip::tcp;

constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

}  // namespace

struct HttpGateway::Listener {
  explicit Listener(Handlers* handlers, const Options& options)
      : context{handlers,
                StaticFiles(options.viewer_folder),
                options.allowed_origins,
                options.allowed_hosts,
                true,
                options.version,
                TlsSettings(options.certificates),
                Peers(options.max_connections_per_peer),
                Pacing(),
                options.idle_timeout,
                options.max_connections,
                options.counters,
                options.grpc_counters,
                1,
                {},
                {0},
                {0}},
        acceptor(io),
        pause(io) {}

  void Accept() {
    if (context.connections.load() + context.websockets.load() >= context.max_connections) {
      pause.expires_after(kAcceptRetryDelay);
      pause.async_wait([this](boost::system::error_code error) {
        if (!error) Accept();
      });
      return;
    }
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (!error) {
        Admit(std::move(socket));
        return Accept();
      }
      // probably out of file descriptors: wait before trying again
      spdlog::warn("event=accept_failed reason=\"{}\"", error.message());
      pause.expires_after(kAcceptRetryDelay);
      pause.async_wait([this](boost::system::error_code cancelled) {
        if (!cancelled) Accept();
      });
    });
  }

  // Serves a connection, unless its peer has too many already.
  void Admit(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;
    Peers::Place place = context.peers.Take(*peer.data());
    if (!place) {
      context.counters->refused.fetch_add(1);
      spdlog::debug("event=connection_refused peer={} reason=\"too many\"",
                    peer.address().to_string());
      return;
    }
    ServeConnection(Connection(std::move(socket), context.tls.context(), std::move(place)),
                    &context);
  }

  // Handles events until there is nothing to wait for, or the gateway stops.
  void Run() {
    while (io.run_one() > 0) {
      if (!context.pacing.MayRest()) continue;
      io.poll();
      Pacing::Rest();
    }
  }

  GatewayContext context;  // outlives the connections, which io holds
  net::io_context io{1};
  tcp::acceptor acceptor;
  net::steady_timer pause;
  int port = 0;
  std::thread thread;
};

HttpGateway::HttpGateway(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}

absl::StatusOr<std::unique_ptr<HttpGateway>> HttpGateway::Start(Handlers* handlers,
                                                                const Options& options) {
  auto listener = std::make_unique<Listener>(handlers, options);
  boost::system::error_code error;
  const net::ip::address address =
      net::ip::make_address(options.bind == "localhost" ? "127.0.0.1" : options.bind, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("bind: \"", options.bind,
                     "\" is not an address; expected one such as 127.0.0.1 or 0.0.0.0"));
  }
  listener->context.loopback_only = address.is_loopback();
  const tcp::endpoint endpoint(address, static_cast<unsigned short>(options.port));
  tcp::acceptor& acceptor = listener->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.bind, ":", options.port,
                                               " for HTTP: ", error.message()));
  }
  listener->port = acceptor.local_endpoint().port();
  listener->Accept();
  Listener* running = listener.get();
  listener->thread = std::thread([running] {
    pthread_setname_np(pthread_self(), "gateway");
    running->Run();
  });
  return std::unique_ptr<HttpGateway>(new HttpGateway(std::move(listener)));
}

HttpGateway::~HttpGateway() {
  Stop();
}

int HttpGateway::port() const {
  return listener_->port;
}

bool HttpGateway::has_viewer() const {
  return listener_->context.files.exists();
}

void HttpGateway::BeginShutdown() {
  net::post(listener_->io, [listener = listener_.get()] {
    boost::system::error_code ignored;
    listener->acceptor.close(ignored);
    listener->pause.cancel();
    const auto sessions = listener->context.sessions;
    for (const auto& [number, weak] : sessions) {
      if (const auto session = weak.lock()) CloseWebSocket(*session);
    }
  });
}

void HttpGateway::Stop() {
  listener_->io.stop();
  if (listener_->thread.joinable()) listener_->thread.join();
}

}  // namespace pliant::server
