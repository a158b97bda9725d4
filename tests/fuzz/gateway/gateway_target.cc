// Feeds one input to a gateway, over a connection of its own: as HTTP, as frames of a WebSocket, or
// as a message in one frame. The first byte of the input says which. The server must end the
// connection when the client does; a sanitizer checks the rest.
//
// With libFuzzer: build/libfuzzer/bin/gateway_fuzz tests/fuzz/gateway/corpus. Otherwise
// tests/fuzz/mutations.cc calls it.

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

#include "spdlog/spdlog.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "server/gateway/http_gateway.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

constexpr char kHandshake[] =
    "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Protocol: pliant.v1\r\n\r\n";
constexpr timeval kTimeout{30, 0};

struct Target {
  Target() {
    spdlog::set_level(spdlog::level::off);
    auto started = HttpGateway::Start(&handlers, {});
    if (!started.ok()) std::abort();
    gateway = *std::move(started);
  }

  Handlers handlers{Handlers::Options{}};
  std::unique_ptr<HttpGateway> gateway;
};

// A binary frame with a mask of zeros, which leaves the bytes as they are.
std::string Frame(std::string_view message) {
  std::string frame = "\x82";
  if (message.size() < 126) {
    frame += static_cast<char>(0x80 | message.size());
  } else {
    frame += "\xff";
    for (int shift = 56; shift >= 0; shift -= 8)
      frame += static_cast<char>((message.size() >> shift) & 0xff);
  }
  frame.append(4, '\0');
  return frame.append(message);
}

std::string Wrap(std::string_view input) {
  if (input.empty()) return "";
  const std::string_view rest = input.substr(1);
  switch (input.front() % 3) {
    case 0:
      return std::string(rest);
    case 1:
      return kHandshake + std::string(rest);
    default:
      return kHandshake + Frame(rest);
  }
}

// Result of a call of the system that libFuzzer's clock may interrupt.
template <typename Call>
auto Finish(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Reads until the server closes; false when it does not.
bool IsClosed(int socket) {
  std::array<char, 4096> bytes{};
  ssize_t size = 0;
  while ((size = Finish([&] { return read(socket, bytes.data(), bytes.size()); })) > 0) {
  }
  return size == 0 || errno == ECONNRESET;
}

void Feed(int port, std::string_view input) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  const std::string bytes = Wrap(input);
  // the server may have closed already
  const ssize_t sent =
      Finish([&] { return send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
  if (sent < 0 && errno == EAGAIN) std::abort();
  shutdown(client, SHUT_WR);
  if (!IsClosed(client)) {
    std::fprintf(stderr, "the gateway does not close the connection\n");
    std::abort();
  }
  close(client);
}

}  // namespace
}  // namespace pliant::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& target = *new pliant::server::Target();
  pliant::server::Feed(target.gateway->port(), {reinterpret_cast<const char*>(data), size});
  return 0;
}
