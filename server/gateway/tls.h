#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "boost/asio/ssl/context.hpp"

#include "server/auth/certificates.h"

namespace pliant::server {

// The TLS settings of new connections, from the present certificates. Used on one thread.
class TlsSettings {
 public:
  // Null certificates: no TLS.
  explicit TlsSettings(std::shared_ptr<const Certificates> certificates)
      : certificates_(std::move(certificates)) {}

  // Time since 1970 [s]; 0 without TLS.
  double certificate_expires() const {
    if (certificates_ == nullptr) return 0;
    return std::chrono::duration<double>(certificates_->expires().time_since_epoch()).count();
  }

  // Null without TLS. Connections that use an earlier context keep it.
  boost::asio::ssl::context* context();

 private:
  const std::shared_ptr<const Certificates> certificates_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace pliant::server
