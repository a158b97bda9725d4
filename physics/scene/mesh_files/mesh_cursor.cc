#include "physics/scene/mesh_files/mesh_cursor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pliant::physics {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

// Parses the whole text as a number; a leading plus is allowed.
template <typename Number>
bool Parse(std::string_view text, Number* value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string Quote(std::string_view bytes) {
  constexpr std::size_t kShown = 24;
  std::string quoted = "\"";
  for (const char c : bytes.substr(0, kShown)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    }
  }
  return quoted + (bytes.size() > kShown ? "…\"" : "\"");
}

void MeshCursor::FailAt(std::size_t position, const std::string& message) {
  if (!ok()) return;
  if (binary_) {
    status_ = absl::InvalidArgumentError(absl::StrCat(name_, ": byte ", position, ": ", message));
  } else {
    const auto line =
        1 + std::count(bytes_.begin(), bytes_.begin() + std::min(position, bytes_.size()), '\n');
    status_ = absl::InvalidArgumentError(absl::StrCat(name_, ":", line, ": ", message));
  }
}

void MeshCursor::FailExpected(std::string_view what, std::string_view found) {
  if (found.empty()) {
    Fail(absl::StrCat("the file ends where ", std::string(what), " should be"));
  } else {
    Fail(absl::StrCat("expected ", std::string(what), ", found ", Quote(found)));
  }
}

std::string_view MeshCursor::PeekWord() const {
  if (!ok()) return {};
  std::size_t begin = position_;
  while (begin < bytes_.size() && IsSpace(bytes_[begin])) ++begin;
  std::size_t end = begin;
  while (end < bytes_.size() && !IsSpace(bytes_[end])) ++end;
  return bytes_.substr(begin, end - begin);
}

std::string_view MeshCursor::Word() {
  const std::string_view word = PeekWord();
  if (!ok()) return {};
  last_ = static_cast<std::size_t>(word.data() - bytes_.data());
  position_ = last_ + word.size();
  return word;
}

std::string_view MeshCursor::Line() {
  if (!ok()) return {};
  last_ = position_;
  const std::size_t newline = bytes_.find('\n', position_);
  std::string_view line =
      bytes_.substr(position_, newline == std::string_view::npos ? newline : newline - position_);
  position_ = newline == std::string_view::npos ? bytes_.size() : newline + 1;
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  return line;
}

void MeshCursor::Expect(std::string_view word) {
  const std::string_view found = Word();
  if (ok() && found != word) FailExpected(word, found);
}

std::int64_t MeshCursor::TextInteger(std::string_view what) {
  const std::string_view word = Word();
  std::int64_t value = 0;
  if (!ok() || Parse(word, &value)) return value;
  FailExpected(what, word);
  return 0;
}

double MeshCursor::TextReal(std::string_view what) {
  const std::string_view word = Word();
  double value = 0;
  if (!ok() || Parse(word, &value)) return value;
  FailExpected(what, word);
  return 0;
}

std::string_view MeshCursor::Bytes(std::size_t count, std::string_view what) {
  if (!ok()) return {};
  last_ = position_;
  if (count > remaining()) {
    Fail(absl::StrCat("the file ends where ", std::string(what), " should be"));
    return {};
  }
  position_ += count;
  return bytes_.substr(last_, count);
}

namespace {

template <typename Number>
Number FromBytes(std::string_view bytes, bool big_endian) {
  char raw[sizeof(Number)];
  std::memcpy(raw, bytes.data(), sizeof raw);
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(raw, raw + sizeof raw);
  Number value;
  std::memcpy(&value, raw, sizeof raw);
  return value;
}

}  // namespace

std::int64_t MeshCursor::Integer(int size, std::string_view what) {
  if (!binary_) return TextInteger(what);
  const std::string_view bytes = Bytes(size, what);
  if (!ok()) return 0;
  if (size == 1) return static_cast<signed char>(bytes[0]);
  if (size == 2) return FromBytes<std::int16_t>(bytes, big_endian_);
  if (size == 4) return FromBytes<std::int32_t>(bytes, big_endian_);
  return FromBytes<std::int64_t>(bytes, big_endian_);
}

double MeshCursor::Real(int size, std::string_view what) {
  if (!binary_) return TextReal(what);
  const std::string_view bytes = Bytes(size, what);
  if (!ok()) return 0;
  return size == 4 ? FromBytes<float>(bytes, big_endian_) : FromBytes<double>(bytes, big_endian_);
}

double MeshCursor::Coordinate(int size) {
  const double value = Real(size, "a coordinate");
  if (ok() && !std::isfinite(value))
    Fail(absl::StrCat("expected a finite coordinate, found ", value));
  return ok() ? value : 0;
}

std::int64_t MeshCursor::CheckCount(std::int64_t count, std::size_t size, std::string_view what) {
  if (!ok()) return 0;
  if (count < 0 || count > std::numeric_limits<int>::max()) {
    Fail(absl::StrCat("expected a number of ", std::string(what), " from 0 to 2147483647, found ",
                      count));
    return 0;
  }
  // as text, an item takes at least a digit and a space, the last one only the digit
  const std::size_t least = binary_ ? size : 2;
  if (static_cast<std::size_t>(count) > (remaining() + 1) / least) {
    Fail(absl::StrCat("the file is too short for ", count, " ", std::string(what), ": ",
                      remaining(), " bytes follow"));
    return 0;
  }
  return count;
}

void MeshCursor::SkipPast(std::string_view word) {
  if (!ok()) return;
  const std::size_t found = bytes_.find(word, position_);
  if (found == std::string_view::npos) {
    last_ = bytes_.size();
    return FailExpected(word, {});
  }
  last_ = found;
  position_ = found + word.size();
}

void MeshCursor::Skip(std::int64_t count, int size, std::string_view what) {
  CheckCount(count, size, what);
  if (!ok()) return;
  if (binary_) {
    Bytes(static_cast<std::size_t>(count) * size, what);
    return;
  }
  for (std::int64_t i = 0; i < count && ok(); ++i) {
    if (Word().empty()) FailExpected(what, {});
  }
}

}  // namespace pliant::physics
