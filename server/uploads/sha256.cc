#include "server/uploads/sha256.h"

#include <algorithm>

#include <openssl/evp.h>

#include "physics/spatial/demand.h"

namespace pliant::server {

struct Sha256::Context {
  Context() : digest(EVP_MD_CTX_new()) {
    PLIANT_DEMAND(digest != nullptr && EVP_DigestInit_ex(digest, EVP_sha256(), nullptr) == 1);
  }
  ~Context() { EVP_MD_CTX_free(digest); }
  EVP_MD_CTX* const digest;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Add(std::string_view bytes) {
  PLIANT_DEMAND(EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  PLIANT_DEMAND(EVP_DigestFinal_ex(context_->digest, bytes, &size) == 1);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string CalcSha256(std::string_view bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Finish();
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace pliant::server
