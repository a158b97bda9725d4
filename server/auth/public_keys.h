#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;

namespace pliant::server {

// A key that verifies signatures.
using PublicKey = std::shared_ptr<evp_pkey_st>;

// Reads the public keys of a file: PEM, one or more, or a JSON Web Key Set (RFC 7517), as identity
// providers publish it. Keys of a set that are for encryption, or of a kind that is not supported,
// are left out. INVALID_ARGUMENT when no key can be used, when a key is malformed or private, or
// when PEM has a key of another kind than RSA of 2048 bits or more, P-256 and Ed25519; UNAVAILABLE
// when the file cannot be read.
absl::StatusOr<std::vector<PublicKey>> ReadPublicKeys(const std::string& path);

// Algorithm of JSON Web Tokens that a key serves: RS256, ES256 or EdDSA. Empty if there is none.
absl::string_view AlgorithmOf(evp_pkey_st* key);

}  // namespace pliant::server
