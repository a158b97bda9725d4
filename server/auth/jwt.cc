#include "server/auth/jwt.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

#include "openssl/ec.h"
#include "openssl/evp.h"

namespace pliant::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = 8192;
constexpr std::chrono::seconds kLeeway{30};  // between the clocks of the issuer and of this machine
constexpr std::size_t kMaxName = 200;
constexpr int kP256Bytes = 32;  // of each of the two numbers of a signature

absl::Status Refused(absl::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("the token is refused: ", why));
}

// A signature of ES256, two numbers one after the other, in the form that OpenSSL reads.
std::string EncodeDer(absl::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return "";
  const auto* bytes = reinterpret_cast<const unsigned char*>(signature.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(),
                                                                   &ECDSA_SIG_free);
  ECDSA_SIG_set0(pair.get(), BN_bin2bn(bytes, kP256Bytes, nullptr),
                 BN_bin2bn(bytes + kP256Bytes, kP256Bytes, nullptr));
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &out);
  std::string der(reinterpret_cast<const char*>(out), size > 0 ? size : 0);
  OPENSSL_free(out);
  return der;
}

bool IsSignedBy(EVP_PKEY* key, absl::string_view text, absl::string_view signature) {
  const absl::string_view algorithm = AlgorithmOf(key);
  const std::string given = algorithm == "ES256" ? EncodeDer(signature) : std::string(signature);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const EVP_MD* digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();
  return EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(given.data()),
                          given.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

// Decodes a JSON object in base64url; `discarded` if it is not one.
Json ReadPart(absl::string_view part) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(part, &text)) return Json(Json::value_t::discarded);
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json(Json::value_t::discarded);
}

std::string Text(const Json& claims, const char* name) {
  const auto claim = claims.find(name);
  return claim != claims.end() && claim->is_string() ? claim->get<std::string>() : "";
}

// A time in seconds since 1970; `missing` when there is none, and NaN when it is not a number.
double Seconds(const Json& claims, const char* name, double missing) {
  const auto claim = claims.find(name);
  if (claim == claims.end()) return missing;
  return claim->is_number() ? claim->get<double>() : std::nan("");
}

bool IsFor(const Json& claims, const std::string& audience) {
  const auto claim = claims.find("aud");
  if (claim == claims.end()) return false;
  if (claim->is_array()) return std::ranges::find(*claim, Json(audience)) != claim->end();
  return *claim == audience;
}

absl::StatusOr<Identity> ReadIdentity(const Json& claims) {
  Identity identity;
  identity.name = Text(claims, "sub");
  const bool has_control =
      std::ranges::any_of(identity.name, [](unsigned char c) { return c < ' ' || c == 127; });
  if (identity.name.empty() || identity.name.size() > kMaxName || has_control)
    return Refused("its `sub` is not a name of 1 to 200 bytes without control characters");
  const std::optional<Role> role = ParseRole(Text(claims, "role"));
  if (!role) return Refused("its `role` is not viewer, operator or admin");
  if (claims.contains("worlds") && !claims["worlds"].is_string())
    return Refused("its `worlds` is not a selector of labels");
  absl::StatusOr<LabelSelector> worlds = LabelSelector::Parse(Text(claims, "worlds"));
  if (!worlds.ok()) return Refused(absl::StrCat("its `worlds`: ", worlds.status().message()));
  identity.grants = {Grant{*role, *std::move(worlds)}};
  return identity;
}

}  // namespace

absl::StatusOr<JwtVerifier> JwtVerifier::Open(const Options& options) {
  if (options.audience.empty()) {
    return absl::InvalidArgumentError(
        "tokens that are verified by public keys must name this server: give --jwt-audience");
  }
  absl::StatusOr<std::vector<PublicKey>> keys = ReadPublicKeys(options.keys_file);
  if (!keys.ok()) return keys.status();
  JwtVerifier verifier;
  verifier.keys_ = *std::move(keys);
  verifier.audience_ = options.audience;
  verifier.issuer_ = options.issuer;
  return verifier;
}

bool JwtVerifier::HasForm(absl::string_view token) {
  return std::ranges::count(token, '.') == 2;
}

absl::StatusOr<Identity> JwtVerifier::Verify(absl::string_view token,
                                             std::chrono::system_clock::time_point now) const {
  if (token.size() > kMaxBytes || !HasForm(token)) return Refused("it is not a JWT");
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  const Json header = ReadPart(parts[0]);
  std::string signature;
  if (header.is_discarded() || !absl::WebSafeBase64Unescape(parts[2], &signature))
    return Refused("it is not a JWT");
  if (header.contains("crit")) return Refused("its header asks for extensions");
  const std::string algorithm = Text(header, "alg");
  const absl::string_view text = token.substr(0, parts[0].size() + 1 + parts[1].size());
  const bool known = std::ranges::any_of(keys_, [&](const PublicKey& key) {
    return AlgorithmOf(key.get()) == algorithm && IsSignedBy(key.get(), text, signature);
  });
  if (!known) return Refused("no key of this server has signed it");

  const Json claims = ReadPart(parts[1]);
  if (claims.is_discarded()) return Refused("it has no claims");
  const double at = std::chrono::duration<double>(now.time_since_epoch()).count();
  const double leeway = std::chrono::duration<double>(kLeeway).count();
  const double expires = Seconds(claims, "exp", std::nan(""));
  if (!(expires > 0 && expires < 1e11)) return Refused("its `exp` is not a time");
  if (at >= expires + leeway) return Refused("it has expired");
  if (!(at >= Seconds(claims, "nbf", at) - leeway)) return Refused("it is not valid yet");
  if (!IsFor(claims, audience_)) return Refused("it is for another audience");
  if (!issuer_.empty() && Text(claims, "iss") != issuer_) return Refused("it has another issuer");

  absl::StatusOr<Identity> identity = ReadIdentity(claims);
  if (identity.ok()) {
    identity->expires = std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::duration<double>(expires + leeway)));
  }
  return identity;
}

}  // namespace pliant::server
