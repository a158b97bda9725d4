#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/auth/identity.h"
#include "server/auth/jwt.h"
#include "server/auth/tokens.h"

namespace pliant::server {

// Finds the owner of a bearer token. All methods may be called from any thread.
class Authenticator {
 public:
  struct Options {
    std::string tokens_file;   // empty: none
    JwtVerifier::Options jwt;  // no keys_file: none
    // expiry is a time of the calendar, so this is the one clock that may jump
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  };

  // Returns errors of the files.
  static absl::StatusOr<std::shared_ptr<Authenticator>> Open(Options options);

  // UNAUTHENTICATED when the token is missing, unknown or expired.
  absl::StatusOr<Identity> Authenticate(absl::string_view token);

  // True if the token of an identity is still valid: it has not expired, and no reload has removed
  // or changed it.
  bool IsCurrent(const Identity& identity);

  // Reads the files again. An error leaves everything as it was.
  absl::Status Reload();

 private:
  static constexpr std::size_t kMaxVerified = 1024;

  // Contents of the files.
  struct Files {
    std::unordered_map<std::string, std::vector<TokenEntry>> tokens;  // by hash
    std::optional<JwtVerifier> jwt;
    std::uint64_t generation = 0;
  };

  explicit Authenticator(Options options) : options_(std::move(options)) {}
  absl::StatusOr<std::shared_ptr<Files>> Read() const;
  std::shared_ptr<const Files> files() const;
  Identity FindToken(const Files& files, const std::string& hash) const;
  absl::StatusOr<Identity> VerifyJwt(const Files& files, absl::string_view token,
                                     const std::string& hash);

  const Options options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Files> files_;
  std::unordered_map<std::string, Identity> verified_;  // JWTs, by hash
};

}  // namespace pliant::server
