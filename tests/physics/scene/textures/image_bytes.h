#pragma once

#include <cstdint>
#include <string>

namespace pliant::physics {

inline std::string BigEndianBytes(std::uint32_t number, int count) {
  std::string bytes;
  for (int i = count - 1; i >= 0; --i) bytes += static_cast<char>(number >> 8 * i & 0xff);
  return bytes;
}

// The chunks of a PNG of this size, without valid pixels and checksums.
inline std::string PngBytes(std::uint32_t width, std::uint32_t height) {
  const auto chunk = [](const std::string& type, const std::string& data) {
    return BigEndianBytes(static_cast<std::uint32_t>(data.size()), 4) + type + data +
           std::string(4, '\0');
  };
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", BigEndianBytes(width, 4) + BigEndianBytes(height, 4) +
                           std::string("\x08\x06\0\0\0", 5)) +
         chunk("IDAT", std::string(20, 'x')) + chunk("IEND", "");
}

// The segments of a JPEG of this size, likewise, with a comment before the size.
inline std::string JpegBytes(std::uint32_t width, std::uint32_t height) {
  const auto segment = [](char marker, const std::string& data) {
    return std::string("\xff") + marker +
           BigEndianBytes(static_cast<std::uint32_t>(data.size()) + 2, 2) + data;
  };
  return "\xff\xd8" + segment('\xfe', "made by hand") +
         segment('\xc2', "\x08" + BigEndianBytes(height, 2) + BigEndianBytes(width, 2) + "\x01") +
         segment('\xda', "xx") + std::string(20, 'x') + "\xff\xd9";
}

}  // namespace pliant::physics
