#include "server/auth/public_keys.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "openssl/core_names.h"
#include "openssl/evp.h"
#include "openssl/param_build.h"
#include "openssl/pem.h"

namespace pliant::server {
namespace {

using nlohmann::json;

constexpr int kMinRsaBits = 2048;
constexpr std::size_t kCoordinateBytes = 32;  // of P-256
constexpr char kExpected[] = "expected RSA of 2048 bits or more, P-256 or Ed25519";

// Decodes a member in base64url; empty if it is missing.
std::string ReadBytes(const json& key, const char* member) {
  const auto found = key.find(member);
  std::string bytes;
  if (found == key.end() || !found->is_string() ||
      !absl::WebSafeBase64Unescape(found->get<std::string>(), &bytes))
    return "";
  return bytes;
}

std::string ReadText(const json& key, const char* member) {
  const auto found = key.find(member);
  return found != key.end() && found->is_string() ? found->get<std::string>() : "";
}

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Makes a key of the given parameters; null if they are not valid.
PublicKey MakeKey(const char* kind, OSSL_PARAM_BLD* parameters) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> given(
      OSSL_PARAM_BLD_to_param(parameters), OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (given == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, given.get()) != 1)
    return nullptr;
  return {key, EVP_PKEY_free};
}

using Parameters = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;

PublicKey MakeRsaKey(const json& key) {
  const std::string n = ReadBytes(key, "n"), e = ReadBytes(key, "e");
  if (n.empty() || e.empty()) return nullptr;
  using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
  const Number modulus(BN_bin2bn(Bytes(n), static_cast<int>(n.size()), nullptr), BN_free);
  const Number exponent(BN_bin2bn(Bytes(e), static_cast<int>(e.size()), nullptr), BN_free);
  const Parameters parameters(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_BN(parameters.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(parameters.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return MakeKey("RSA", parameters.get());
}

PublicKey MakeP256Key(const json& key) {
  const std::string x = ReadBytes(key, "x"), y = ReadBytes(key, "y");
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes) return nullptr;
  const std::string point = absl::StrCat("\x04", x, y);  // uncompressed
  const Parameters parameters(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_utf8_string(parameters.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(parameters.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return MakeKey("EC", parameters.get());
}

PublicKey MakeEd25519Key(const json& key) {
  const std::string x = ReadBytes(key, "x");
  EVP_PKEY* made = EVP_PKEY_new_raw_public_key_ex(nullptr, "ED25519", nullptr, Bytes(x), x.size());
  return made == nullptr ? nullptr : PublicKey(made, EVP_PKEY_free);
}

absl::StatusOr<std::vector<PublicKey>> ReadKeySet(const json& set, const std::string& path) {
  const auto keys = set.find("keys");
  if (keys == set.end() || !keys->is_array())
    return absl::InvalidArgumentError(absl::StrCat(path, ": a JSON Web Key Set has `keys`"));
  std::vector<PublicKey> read;
  int number = 0;
  for (const json& key : *keys) {
    ++number;
    if (key.is_object() && key.contains("d")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": key ", number, " is private; give the server public keys alone"));
    }
    if (ReadText(key, "use") == "enc") continue;
    const std::string kind = ReadText(key, "kty"), curve = ReadText(key, "crv");
    PublicKey made;
    if (kind == "RSA") {
      made = MakeRsaKey(key);
    } else if (kind == "EC" && curve == "P-256") {
      made = MakeP256Key(key);
    } else if (kind == "OKP" && curve == "Ed25519") {
      made = MakeEd25519Key(key);
    } else if (!kind.empty()) {
      continue;
    }
    if (made == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(path, ": key ", number, " is malformed"));
    if (!AlgorithmOf(made.get()).empty()) read.push_back(std::move(made));
  }
  if (read.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no key that verifies signatures; ", kExpected));
  }
  return read;
}

absl::StatusOr<std::vector<PublicKey>> ReadPem(const std::string& text, const std::string& path) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  std::vector<PublicKey> keys;
  while (EVP_PKEY* key = PEM_read_bio_PUBKEY(memory.get(), nullptr, nullptr, nullptr)) {
    keys.emplace_back(key, EVP_PKEY_free);
    if (!AlgorithmOf(key).empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": key ", keys.size(), " is of no supported kind; ", kExpected));
  }
  if (keys.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": no public key; expected PEM, as `openssl pkey -pubout` writes it, or a "
                     "JSON Web Key Set"));
  }
  return keys;
}

}  // namespace

absl::string_view AlgorithmOf(evp_pkey_st* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      return EVP_PKEY_get_bits(key) >= kMinRsaBits ? "RS256" : "";
    case EVP_PKEY_ED25519:
      return "EdDSA";
    case EVP_PKEY_EC:
      break;
    default:
      return "";
  }
  std::array<char, 64> group{};
  EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr);
  return absl::string_view(group.data()) == "prime256v1" ? "ES256" : "";
}

absl::StatusOr<std::vector<PublicKey>> ReadPublicKeys(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) {
    return absl::UnavailableError(
        absl::StrCat("cannot read the public keys in ", path, "\n    Check the path."));
  }
  const json set = json::parse(text, nullptr, false);
  return set.is_object() ? ReadKeySet(set, path) : ReadPem(text, path);
}

}  // namespace pliant::server
