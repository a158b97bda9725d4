#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/auth/identity.h"
#include "server/auth/public_keys.h"

namespace pliant::server {

// Verifies JSON Web Tokens (RFC 7519) by public keys: RS256 with RSA keys, ES256 with P-256 keys,
// EdDSA with Ed25519 keys. The type of a key determines its algorithm; the header of a token does
// not.
//
// Claims: `sub` is the name, `role` the role and `worlds` the selector of its worlds, which may be
// missing. `exp` and `aud` are required; `nbf` and, if an issuer is given, `iss` are checked.
class JwtVerifier {
 public:
  struct Options {
    std::string keys_file;  // see ReadPublicKeys
    std::string audience;   // this server, as tokens name it
    std::string issuer;     // empty: any
  };

  // INVALID_ARGUMENT or UNAVAILABLE when the keys cannot be used.
  static absl::StatusOr<JwtVerifier> Open(const Options& options);

  // UNAUTHENTICATED with the reason.
  absl::StatusOr<Identity> Verify(absl::string_view token,
                                  std::chrono::system_clock::time_point now) const;

  // True if a token has the form of a JWT: three parts between dots.
  static bool HasForm(absl::string_view token);

 private:
  std::vector<PublicKey> keys_;
  std::string audience_;
  std::string issuer_;
};

}  // namespace pliant::server
