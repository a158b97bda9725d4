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

  std::string Make(const std::string& claims) const { return Make(claims, algorithm_); }

  // `named` is the algorithm that the header names.
  std::string Make(const std::string& claims, const std::string& named) const {
    const std::string header = absl::StrCat("{\"alg\":\"", named, "\",\"typ\":\"JWT\"}");
    const std::string text =
        absl::StrCat(absl::WebSafeBase64Escape(header), ".", absl::WebSafeBase64Escape(claims));
    return absl::StrCat(text, ".", absl::WebSafeBase64Escape(Sign(text)));
  }

 private:
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
