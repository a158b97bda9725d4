#include "server/rpc/connections.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <pthread.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "grpcpp/server_builder.h"
#include "spdlog/spdlog.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace pliant::server {
namespace {

using Clock = std::chrono::steady_clock;

// Time in which a connection beyond the limits can make a call and read why it is refused, and the
// maximum number of such connections; others are closed without a reason.
constexpr std::chrono::milliseconds kRefusalTime{1000};
constexpr int kMaxRefused = 64;
constexpr int kAcceptRetryMs = 100;  // without descriptors
// Data that the peer's machine does not acknowledge for this time ends the connection [ms].
constexpr unsigned kUserTimeoutMs = 5000;

// Address and port, as in `peer` of a call after its scheme.
std::string NameOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return absl::StrCat(text, ":", ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
    return absl::StrCat(text, ":", ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return absl::StrCat("[", text, "]:", ntohs(v6.sin6_port));
}

std::optional<sockaddr_storage> ReadAddress(const std::string& bind, int port) {
  sockaddr_storage address{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  const bool bracketed = bind.size() > 2 && bind.front() == '[' && bind.back() == ']';
  const std::string text = bind == "localhost" ? "127.0.0.1"
                           : bracketed         ? bind.substr(1, bind.size() - 2)
                                               : bind;
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void Watch(int events, int socket, std::uint32_t what) {
  epoll_event event{};
  event.events = what;
  event.data.fd = socket;
  epoll_ctl(events, EPOLL_CTL_ADD, socket, &event);
}

}  // namespace

// A connection that is open, or refused and not yet closed. Its descriptor duplicates gRPC's, and
// reports a hang-up when gRPC shuts the connection down.
struct Connections::Connection {
  std::string peer;
  Peers::Place place;                     // none if refused
  std::optional<Clock::time_point> ends;  // if refused
};

absl::StatusOr<std::unique_ptr<Connections>> Connections::Listen(
    const std::string& bind, int port, const Limits& limits,
    std::shared_ptr<ConnectionCounters> counters) {
  std::optional<sockaddr_storage> address = ReadAddress(bind, port);
  if (!address) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bind: \"", bind, "\" is not an address; expected one such as 127.0.0.1 or 0.0.0.0"));
  }
  const int family = address->ss_family;
  socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  auto* place = reinterpret_cast<sockaddr*>(&*address);
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  // connections inherit the options; two servers must not share the port
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
  if (listener < 0 || ::bind(listener, place, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, place, &size) != 0) {
    const std::string reason = strerror(errno);
    if (listener >= 0) close(listener);
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", bind, ":", port, " for gRPC: ", reason));
  }
  const int own = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(*address).sin_port
                                          : reinterpret_cast<sockaddr_in6&>(*address).sin6_port);
  return std::unique_ptr<Connections>(new Connections(listener, own, limits, std::move(counters)));
}

Connections::Connections(int listener, int port, const Limits& limits,
                         std::shared_ptr<ConnectionCounters> counters)
    : listener_(listener),
      port_(port),
      limits_(limits),
      counters_(std::move(counters)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      peers_(limits.per_peer) {
  Watch(events_, listener_, EPOLLIN);
  Watch(events_, wake_, EPOLLIN);
}

Connections::~Connections() {
  Stop();
  for (const auto& [socket, connection] : open_) close(socket);
  close(listener_);
  close(events_);
  close(wake_);
}

void Connections::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "accept");
    Run();
  });
}

void Connections::Stop() {
  const std::uint64_t one = 1;
  if (!thread_.joinable()) return;
  if (write(wake_, &one, sizeof one) == sizeof one) thread_.join();
  shutdown(listener_, SHUT_RD);  // refuses further connections
}

absl::Status Connections::Check(const std::string& peer) const {
  if (refused_count_.load() == 0) return absl::OkStatus();
  const std::string name =
      absl::StrReplaceAll(peer.substr(peer.find(':') + 1), {{"%5B", "["}, {"%5D", "]"}});
  std::lock_guard lock(mutex_);
  const auto found = refused_.find(name);
  return found == refused_.end() ? absl::OkStatus() : absl::ResourceExhaustedError(found->second);
}

void Connections::Run() {
  std::array<epoll_event, 64> events{};
  while (true) {
    // time out to close refused connections; otherwise wait for events only
    const int timeout = refused_count_.load() > 0 ? kAcceptRetryMs : -1;
    const int count = epoll_wait(events_, events.data(), events.size(), timeout);
    for (int i = 0; i < count; ++i) {
      const int number = events[i].data.fd;
      if (number == wake_) return;
      number == listener_ ? Accept() : Forget(number);
    }
    CloseRefused();
  }
}

void Connections::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      Admit(socket);
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN) return;
    // probably out of descriptors: wait before trying again
    spdlog::warn("event=accept_failed reason=\"{}\"", strerror(errno));
    std::this_thread::sleep_for(std::chrono::milliseconds(kAcceptRetryMs));
    return;
  }
}

void Connections::Admit(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    if (own >= 0) close(own);
    close(socket);
    return;
  }
  const int refused = refused_count_.load();
  const bool full = static_cast<int>(open_.size()) - refused >= limits_.total;
  Connection connection{
      NameOf(address),
      full ? Peers::Place() : peers_.Take(reinterpret_cast<const sockaddr&>(address)),
      std::nullopt};
  if (!connection.place) {
    const std::string reason =
        full ? absl::StrCat("the server has ", limits_.total,
                            " gRPC connections already; --max-connections bounds them")
             : absl::StrCat("this client has ", limits_.per_peer,
                            " connections already; --max-connections-per-peer bounds them");
    spdlog::debug("event=connection_refused peer={} reason=\"{}\"", connection.peer, reason);
    counters_->refused.fetch_add(1);
    if (refused >= kMaxRefused) {
      close(own);
      close(socket);
      return;
    }
    connection.ends = Clock::now() + kRefusalTime;
    std::lock_guard lock(mutex_);
    refused_[connection.peer] = reason;
    refused_count_.fetch_add(1);
  } else {
    counters_->open.fetch_add(1);
  }
  open_.emplace(own, std::move(connection));
  Watch(events_, own, 0);  // hanging up is always reported
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters given;
  given.listener_fd = listener_;
  given.fd = socket;
  acceptor_->HandleNewConnection(&given);
}

void Connections::Forget(int number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  if (found->second.ends) {
    std::lock_guard lock(mutex_);
    refused_.erase(found->second.peer);
    refused_count_.fetch_sub(1);
  } else {
    counters_->open.fetch_sub(1);
  }
  open_.erase(found);
  close(number);
}

// Shuts down connections that were refused kRefusalTime ago; gRPC then closes them.
void Connections::CloseRefused() {
  if (refused_count_.load() == 0) return;
  const Clock::time_point now = Clock::now();
  for (auto& [number, connection] : open_) {
    if (connection.ends && now >= *connection.ends) shutdown(number, SHUT_RDWR);
  }
}

}  // namespace pliant::server
