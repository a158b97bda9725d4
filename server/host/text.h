#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pliant::server {

// The start of a UTF-8 text, at most `max_bytes` bytes of whole characters. A protobuf message with
// an incomplete character in a string cannot be parsed.
inline std::string Shorten(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (max_bytes > 0 && continues(text[max_bytes])) --max_bytes;
  return std::string(text.substr(0, max_bytes));
}

}  // namespace pliant::server
