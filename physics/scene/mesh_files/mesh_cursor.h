#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace pliant::physics {

// Reads numbers and words from the bytes of a mesh file, as text or binary. The first error stays;
// after it every read returns zero or nothing without advancing, so a loop ends as soon as it
// checks ok(). Never reads beyond the end.
class MeshCursor {
 public:
  // `name` stands for the file in messages.
  MeshCursor(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // start of the last thing read
  std::size_t last_position() const { return last_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  std::string_view rest() const { return bytes_.substr(position_); }

  // Numbers are binary from here on, and errors name a byte instead of a line.
  void SetBinary(bool big_endian) {
    binary_ = true;
    big_endian_ = big_endian;
  }
  bool binary() const { return binary_; }

  // The next word, without the white space before it; empty at the end.
  std::string_view Word();
  std::string_view PeekWord() const;
  // The rest of this line without the line end, which is consumed.
  std::string_view Line();
  // Consumes exactly `word`, or fails with "expected".
  void Expect(std::string_view word);

  // A number as text whatever the mode. `what` completes "expected …".
  std::int64_t TextInteger(std::string_view what);
  double TextReal(std::string_view what);
  // As text, or in binary mode of this many bytes: integers 1, 2, 4 or 8, signed; reals 4 or 8.
  std::int64_t Integer(int size, std::string_view what);
  double Real(int size, std::string_view what);
  // A real number as above, which must be finite.
  double Coordinate(int size);
  // Checks that a count is not negative and that the bytes left can hold it; `size` of one item in
  // binary mode.
  std::int64_t CheckCount(std::int64_t count, std::size_t size, std::string_view what);
  // Skips bytes through the next `word`; fails when there is none.
  void SkipPast(std::string_view word);
  // Skips numbers.
  void Skip(std::int64_t count, int size, std::string_view what);

  // INVALID_ARGUMENT "name:line: message" or "name: byte n: message", at the last item read or at a
  // given position.
  void Fail(const std::string& message) { FailAt(last_, message); }
  void FailAt(std::size_t position, const std::string& message);
  // "expected …, found …" about the last word
  void FailExpected(std::string_view what, std::string_view found);

 private:
  std::string_view Bytes(std::size_t count, std::string_view what);

  std::string_view bytes_;
  std::string name_;
  std::size_t position_ = 0;
  std::size_t last_ = 0;
  bool binary_ = false;
  bool big_endian_ = false;
  absl::Status status_;
};

// A short printable form of bytes from a file: quoted, other bytes as \xNN, cut after 24.
std::string Quote(std::string_view bytes);

}  // namespace pliant::physics
