#pragma once

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "openssl/ec.h"
#include "openssl/evp.h"
#include "openssl/pem.h"

namespace pliant::server {

// Issues JWTs with a key of its own, as an identity provider does.
class JwtMaker {
 public:
  // algorithm: RS256, ES256 or EdDSA
  explicit JwtMaker(const std::string& algorithm, unsigned rsa_bits = 2048)
      : algorithm_(algorithm),
        key_(algorithm == "RS256"   ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{rsa_bits})
             : algorithm == "ES256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                    : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"),
             EVP_PKEY_free) {}

  std::string PublicKey() const {
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(memory, key_.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory, &text);
    std::string pem(text, size);
    BIO_free(memory);
    return pem;
  }

  // The public key as a JSON Web Key. `more` are further members, each with a comma before it.
  std::string WebKey(const std::string& more = "") const {
    std::string members;
    if (algorithm_ == "RS256") {
      members = absl::StrCat(R"("kty":"RSA","n":")", Number("n"), R"(","e":")", Number("e"), "\"");
    } else if (algorithm_ == "ES256") {
      members = absl::StrCat(R"("kty":"EC","crv":"P-256","x":")", Number("qx", 32), R"(","y":")",
                             Number("qy", 32), "\"");
    } else {
      std::string bytes(32, '\0');
      std::size_t size = bytes.size();
      EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                  &size);
      members = absl::StrCat(R"("kty":"OKP","crv":"Ed25519","x":")",
                             absl::WebSafeBase64Escape(bytes), "\"");
    }
    return absl::StrCat("{", members, more, "}");
  }

  std::string Make(const std::string& claims) const { return Make(claims, algorithm_); }

  // `named` is the algorithm that the header names.
  std::string Make(const std::string& claims, const std::string& named) const {
    const std::string header = absl::StrCat("{\"alg\":\"", named, "\",\"typ\":\"JWT\"}");
    const std::string text =
        absl::StrCat(absl::WebSafeBase64Escape(header), ".", absl::WebSafeBase64Escape(claims));
    return absl::StrCat(text, ".", absl::WebSafeBase64Escape(Sign(text)));
  }

 private:
  // A number of the key in base64url, with zeros in front up to `bytes`.
  std::string Number(const char* name, int bytes = 0) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &number);
    std::string text(bytes > 0 ? bytes : BN_num_bytes(number), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()),
                 static_cast<int>(text.size()));
    BN_free(number);
    return absl::WebSafeBase64Escape(text);
  }

  std::string Sign(const std::string& text) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const EVP_MD* digest = algorithm_ == "EdDSA" ? nullptr : EVP_sha256();
    EVP_DigestSignInit(context, nullptr, digest, nullptr, key_.get());
    std::string signature(512, '\0');
    std::size_t size = signature.size();
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    signature.resize(size);
    if (algorithm_ != "ES256") return signature;

    // JWTs have the two numbers of such a signature one after the other
    const auto* at = reinterpret_cast<const unsigned char*>(signature.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size));
    std::string numbers(64, '\0');
    auto* out = reinterpret_cast<unsigned char*>(numbers.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + 32, 32);
    ECDSA_SIG_free(pair);
    return numbers;
  }

  const std::string algorithm_;
  const std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace pliant::server
