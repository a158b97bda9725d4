#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/auth/identity.h"

namespace pliant::server {

// One entry of a file of tokens, which has only their hashes. Grants of entries with the same hash
// are combined.
struct TokenEntry {
  std::string name;
  std::string sha256;  // hexadecimal, in lower case
  Grant grant;
  std::chrono::system_clock::time_point expires = std::chrono::system_clock::time_point::max();
};

// Reads a YAML list of {name, sha256, role, worlds, expires}. INVALID_ARGUMENT names file, line and
// entry; UNAVAILABLE when the file cannot be read.
absl::StatusOr<std::vector<TokenEntry>> ReadTokens(const std::string& path);

struct NewToken {
  std::string name;
  std::string role;
  std::string worlds;   // selector; empty: all
  std::string expires;  // RFC 3339; empty: never
};

// Appends the hash of a new random token to a file, which need not exist yet, and returns the
// token. INVALID_ARGUMENT when the new entry or the file is not valid, UNAVAILABLE when it cannot
// be written.
absl::StatusOr<std::string> AddToken(const std::string& path, const NewToken& entry);

// The token of an `authorization` header, "Bearer T"; empty when the header has another form.
absl::string_view ReadBearer(absl::string_view header);

// SHA-256, hexadecimal.
std::string HashToken(absl::string_view token);

}  // namespace pliant::server
