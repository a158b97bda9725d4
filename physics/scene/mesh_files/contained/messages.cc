#include "physics/scene/mesh_files/contained/messages.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <poll.h>

#include <sys/socket.h>

namespace pliant::physics {
namespace {

struct Head {
  MessageKind kind = MessageKind::kFile;
  std::uint64_t size = 0;
};

// Waits until the socket is ready; false when the deadline comes first.
bool Wait(int socket, short events, Deadline deadline) {
  using std::chrono::milliseconds;
  while (true) {
    int timeout = -1;
    if (deadline != Deadline::max()) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Deadline::clock::now()).count();
      timeout =
          static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
    }
    pollfd wait = {socket, events, 0};
    const int ready = poll(&wait, 1, timeout);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool SendAll(int socket, const void* bytes, std::size_t size, Deadline deadline) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    if (!Wait(socket, POLLOUT, deadline)) return false;
    const ssize_t count = send(socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool ReceiveAll(int socket, void* bytes, std::size_t size, Deadline deadline) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    if (!Wait(socket, POLLIN, deadline)) return false;
    const ssize_t count = recv(socket, at, size, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

bool SendMessage(int socket, MessageKind kind, std::string_view bytes, Deadline deadline) {
  const Head head = {kind, bytes.size()};
  return SendAll(socket, &head, sizeof head, deadline) &&
         SendAll(socket, bytes.data(), bytes.size(), deadline);
}

std::optional<Message> ReceiveMessage(int socket, Deadline deadline) {
  Head head;
  if (!ReceiveAll(socket, &head, sizeof head, deadline)) return std::nullopt;
  if (head.kind > MessageKind::kResult || head.size > kMaxMessageBytes) return std::nullopt;
  Message message{head.kind, {}};
  // grow with the bytes received, since the size in the head may be wrong
  constexpr std::uint64_t kPart = 1 << 20;
  while (message.bytes.size() < head.size) {
    const std::size_t old = message.bytes.size();
    message.bytes.resize(old + std::min(kPart, head.size - old));
    if (!ReceiveAll(socket, message.bytes.data() + old, message.bytes.size() - old, deadline))
      return std::nullopt;
  }
  return message;
}

}  // namespace pliant::physics
