#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pliant::physics {

// Messages between a program and its reader of surfaces, over a socket. The reader is sent a file
// first; it may request others by name, which are answered by a file or a refusal, and ends with
// its result.
enum class MessageKind : std::uint64_t { kFile, kRefusal, kRequest, kResult };

struct Message {
  MessageKind kind = MessageKind::kFile;
  std::string bytes;
};

// Largest message in either direction [B].
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

using Deadline = std::chrono::steady_clock::time_point;

// Sends a message; false when the other side has ended or the deadline has passed.
bool SendMessage(int socket, MessageKind kind, std::string_view bytes, Deadline deadline);

// Receives the next message; nothing if the other side has ended, the bytes are no message, or the
// deadline has passed.
std::optional<Message> ReceiveMessage(int socket, Deadline deadline);

}  // namespace pliant::physics
