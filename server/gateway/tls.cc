#include "server/gateway/tls.h"

#include "boost/asio/buffer.hpp"
#include "spdlog/spdlog.h"

#include "openssl/ssl.h"

namespace pliant::server {
namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;

// Throws boost::system::system_error when OpenSSL refuses the certificates.
std::unique_ptr<ssl::context> MakeContext(const Certificates::Pem& pem, bool asks_clients) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* settings = context->native_handle();
  SSL_CTX_set_min_proto_version(settings, TLS1_2_VERSION);
  context->set_options(ssl::context::default_workarounds | ssl::context::single_dh_use |
                       ssl::context::no_compression);
  context->use_certificate_chain(net::buffer(pem.chain));
  context->use_private_key(net::buffer(pem.key), ssl::context::pem);
  if (!asks_clients) return context;

  // each connection shows its certificate: a resumed session would skip the check
  context->add_certificate_authority(net::buffer(pem.client_ca));
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  SSL_CTX_set_session_cache_mode(settings, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(settings, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(settings, 0);
  return context;
}

}  // namespace

ssl::context* TlsSettings::context() {
  if (certificates_ == nullptr) return nullptr;
  const std::uint64_t generation = certificates_->generation();
  if (generation == generation_) return context_.get();
  generation_ = generation;
  try {
    context_ = MakeContext(certificates_->pem(), certificates_->asks_clients());
  } catch (const boost::system::system_error& error) {
    // the connections to come keep the previous certificate, or fail if there is none
    spdlog::error("event=certificate_refused reason=\"{}\"", error.what());
    if (context_ == nullptr) context_ = std::make_unique<ssl::context>(ssl::context::tls_server);
  }
  return context_.get();
}

}  // namespace pliant::server
