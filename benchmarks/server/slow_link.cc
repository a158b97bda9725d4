#include "benchmarks/server/slow_link.h"

#include <algorithm>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "benchmarks/measure.h"

namespace pliant::benchmarks {
namespace {

constexpr int kBuffer = 16 << 10;   // of the sockets, so that little is buffered on the way [B]
constexpr double kInterval = 0.02;  // between two portions [s]

sockaddr_in ReadAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1))));
  return address;
}

int OpenSocket() {
  const int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(handle, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  return handle;
}

// Passes at most `size` bytes on. Returns false at the end of the connection.
bool Pass(int from, int to, std::size_t size) {
  std::vector<char> bytes(size);
  const ssize_t received = recv(from, bytes.data(), size, 0);
  if (received <= 0) return false;
  return send(to, bytes.data(), static_cast<std::size_t>(received), MSG_NOSIGNAL) == received;
}

}  // namespace

SlowLink::SlowLink(const std::string& server, double bits_per_second) : listening_(OpenSocket()) {
  sockaddr_in address = ReadAddress("127.0.0.1:0");
  socklen_t size = sizeof address;
  if (bind(listening_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listening_, 1) != 0)
    std::abort();
  getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([=, this] { Carry(server, bits_per_second); });
}

SlowLink::~SlowLink() {
  shutdown(listening_, SHUT_RDWR);
  thread_.join();
  close(listening_);
}

void SlowLink::Carry(const std::string& server, double bits_per_second) const {
  const int client = accept(listening_, nullptr, nullptr);
  if (client < 0) return;
  const int remote = OpenSocket();
  sockaddr_in address = ReadAddress(server);
  bool open = connect(remote, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  const double rate = bits_per_second / 8;
  double allowance = 0, last = Now();  // bytes that may be passed on; when that was updated [s]
  while (open) {
    const double now = Now();
    allowance = std::min(allowance + rate * (now - last), 2 * rate * kInterval);
    last = now;
    const bool may_carry = allowance >= 1;
    pollfd waits[] = {
        {client, POLLIN, 0}, {may_carry ? remote : -1, POLLIN, 0}, {listening_, 0, 0}};
    poll(waits, 3, static_cast<int>(1e3 * kInterval));
    if (waits[2].revents != 0) break;
    if (waits[0].revents != 0) open = Pass(client, remote, 64 << 10);
    if (open && may_carry && waits[1].revents != 0) {
      const auto portion = static_cast<std::size_t>(allowance);
      open = Pass(remote, client, portion);
      allowance -= static_cast<double>(portion);
    }
  }
  close(client);
  close(remote);
}

}  // namespace pliant::benchmarks
