#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace pliant::server {

// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Add(std::string_view bytes);
  std::string Finish();  // 64 hexadecimal digits; nothing may be added afterwards

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string CalcSha256(std::string_view bytes);

// True if `text` is 64 hexadecimal digits in lower case.
bool IsSha256(std::string_view text);

}  // namespace pliant::server
