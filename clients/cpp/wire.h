#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pliant {

static_assert(std::endian::native == std::endian::little, "arrays in frames are little endian");

// Reads the fields of a serialised protobuf message in place, without copies or allocations.
//
//   WireReader reader(bytes);
//   while (reader.Next()) { … reader.field() … }
//   if (!reader.is_valid()) …
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field. False at the end, and if the bytes are not a message.
  bool Next() {
    if (rest_.empty() || !is_valid_) return false;
    std::uint64_t tag = 0;
    if (!ReadVarint(&tag)) return Fail();
    field_ = static_cast<int>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return ReadVarint(&number_) || Fail();
      case 1:
        return Take(8);
      case 2: {
        std::uint64_t size = 0;
        return (ReadVarint(&size) && Take(size)) || Fail();
      }
      case 5:
        return Take(4);
      default:
        return Fail();  // groups are not used
    }
  }

  bool is_valid() const { return is_valid_; }
  int field() const { return field_; }
  std::uint64_t number() const { return number_; }     // of a varint
  std::string_view bytes() const { return content_; }  // of a message, string, bytes or packed list
  double real() const {                                // of a double
    double value = 0;
    if (content_.size() == sizeof value) std::memcpy(&value, content_.data(), sizeof value);
    return value;
  }

 private:
  bool Fail() { return is_valid_ = false; }
  bool Take(std::uint64_t size) {
    if (size > rest_.size()) return Fail();
    content_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool ReadVarint(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      *value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view rest_, content_;
  std::uint64_t number_ = 0;
  int field_ = 0;
  bool is_valid_ = true;
};

}  // namespace pliant
