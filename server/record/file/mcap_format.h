#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace pliant::server {

// The records of an MCAP file, by their opcodes. Numbers are little endian.
enum class McapOpcode : std::uint8_t {
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kMessageIndex = 0x07,
  kChunkIndex = 0x08,
  kAttachment = 0x09,
  kAttachmentIndex = 0x0a,
  kStatistics = 0x0b,
  kMetadata = 0x0c,
  kSummaryOffset = 0x0e,
  kDataEnd = 0x0f,
};

inline constexpr std::string_view kMcapMagic("\x89MCAP0\r\n", 8);

inline constexpr std::string_view kMcapCompression = "zstd";

// Composes the contents of a record.
class McapFields {
 public:
  template <typename T>
  McapFields& Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  McapFields& Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    return Bytes(text);
  }
  McapFields& Bytes(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline void AppendMcapRecord(McapOpcode opcode, std::string_view contents, std::string* bytes) {
  bytes->push_back(static_cast<char>(opcode));
  const std::uint64_t size = contents.size();
  bytes->append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes->append(contents);
}

inline std::string MakeMcapRecord(McapOpcode opcode, const McapFields& fields) {
  std::string bytes;
  AppendMcapRecord(opcode, fields.bytes(), &bytes);
  return bytes;
}

// Parses the contents of a record. Reading beyond the end gives zeros, and ok() is false.
class McapReaderFields {
 public:
  explicit McapReaderFields(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    T value{};
    const std::string_view bytes = Bytes(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view Text() { return Bytes(Number<std::uint32_t>()); }
  std::string_view Bytes(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest() const { return rest_; }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// CRC-32 of the bytes, as specified by MCAP.
std::uint32_t CalcMcapCrc(std::string_view bytes);

}  // namespace pliant::server
