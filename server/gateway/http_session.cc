#include "server/gateway/http_session.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/beast/websocket/rfc6455.hpp"
#include "spdlog/spdlog.h"

#include "openssl/err.h"
#include "openssl/sslerr.h"
#include "server/auth/tokens.h"
#include "server/gateway/metrics_text.h"
#include "server/gateway/origin.h"
#include "server/gateway/websocket_session.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::chrono::seconds kRequestTime{15};
constexpr std::chrono::seconds kIdleTime{60};
constexpr std::uint32_t kMaxHead = 16 * 1024;
constexpr std::uint64_t kMaxBody = 64 * 1024;

// The page loads nothing from elsewhere and runs no inline script. Pages of allowed origins, such
// as notebooks, may show it in a frame.
constexpr char kContentPolicy[] =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self' ";

constexpr char kNoViewer[] =
    "<!doctype html><meta charset=utf-8><title>Pliant</title><body "
    "style=\"font-family:sans-serif;margin:3em\">"
    "<h1>Pliant is running</h1><p>The viewer is not built. Build it with <code>./dev build</code>, "
    "or name another folder with <code>--viewer-dir</code>.</p>";

std::string ToString(beast::string_view text) {
  return std::string(text.data(), text.size());
}

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(Connection connection, GatewayContext* context)
      : stream_(std::move(connection)), context_(context) {
    context_->connections.fetch_add(1);
  }
  ~HttpSession() { context_->connections.fetch_sub(1); }

  void Start() {
    stream_.next_layer().expires_after(kRequestTime);
    stream_.AsyncHandshake([self = shared_from_this()](beast::error_code error) {
      if (error) return self->ExplainTls(error);
      self->Read(kRequestTime);
    });
  }

 private:
  void Read(std::chrono::seconds time) {
    parser_.emplace();
    parser_->header_limit(kMaxHead);
    parser_->body_limit(kMaxBody);
    stream_.next_layer().expires_after(time);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->OnRead(error); });
  }

  // Answers a client that speaks HTTP where TLS is expected; closes the connection on other errors.
  void ExplainTls(beast::error_code error) {
    if (error.category() != boost::asio::error::get_ssl_category() ||
        ERR_GET_REASON(error.value()) != SSL_R_HTTP_REQUEST)
      return Close();
    response_ =
        MakeText(http::status::bad_request, "this port expects TLS; use https:// or wss://\n");
    response_.keep_alive(false);
    response_.prepare_payload();
    http::async_write(
        stream_.next_layer(), response_,
        [self = shared_from_this()](beast::error_code, std::size_t) { self->Close(); });
  }

  void OnRead(beast::error_code error) {
    context_->pacing.OnRequest();
    if (error == http::error::header_limit || error == http::error::body_limit) {
      keep_alive_ = false;
      return Send(MakeText(http::status::payload_too_large, "the request is too large\n"));
    }
    if (error) return Close();
    request_ = parser_->release();
    keep_alive_ = request_.keep_alive();
    const std::string target = ToString(request_.target());
    const std::string path = target.substr(0, target.find_first_of("?#"));
    if (path == "/ws") return Upgrade();
    Send(Answer(path));
  }

  Response Answer(const std::string& path) {
    if (request_.method() != http::verb::get && request_.method() != http::verb::head) {
      Response response = MakeText(http::status::method_not_allowed, "expected GET or HEAD\n");
      response.set(http::field::allow, "GET, HEAD");
      return response;
    }
    if (path == "/healthz") {
      const bool draining = context_->handlers->draining();
      Response response =
          MakeText(draining ? http::status::service_unavailable : http::status::ok,
                   draining ? "{\"status\": \"draining\"}\n" : "{\"status\": \"serving\"}\n");
      response.set(http::field::content_type, "application/json");
      return response;
    }
    if (path == "/metrics") {
      if (absl::Status status = CheckMetricsReader(); !status.ok()) return Deny(status);
      GatewayCounts counts{.connections = context_->connections.load(),
                           .websockets = context_->websockets.load(),
                           .refused = context_->counters->refused.load(),
                           .certificate_expires = context_->tls.certificate_expires()};
      if (context_->grpc_counters != nullptr) {
        counts.grpc_connections = context_->grpc_counters->open.load();
        counts.grpc_refused = context_->grpc_counters->refused.load();
      }
      Response response = MakeText(http::status::ok, WriteMetrics(*context_->handlers, counts));
      response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
      return response;
    }
    return AnswerFile(path);
  }

  // Metrics name every world. Without accounts a page of a foreign name must not read them.
  absl::Status CheckMetricsReader() const {
    if (!context_->handlers->has_accounts() && !IsOwn(ToString(request_[http::field::host]))) {
      return absl::PermissionDeniedError(
          "this is not a name of the server; allow it with --allow-host");
    }
    const absl::StatusOr<Identity> identity =
        context_->handlers->Identify(ReadBearer(ToString(request_[http::field::authorization])));
    if (!identity.ok()) return identity.status();
    if (identity->HasEverywhere(Role::kViewer)) return absl::OkStatus();
    return absl::PermissionDeniedError("metrics require the role viewer on every world");
  }

  Response Deny(const absl::Status& why) const {
    const bool unknown = absl::IsUnauthenticated(why);
    Response response = MakeText(unknown ? http::status::unauthorized : http::status::forbidden,
                                 absl::StrCat(std::string(why.message()), "\n"));
    if (unknown) response.set(http::field::www_authenticate, "Bearer");
    return response;
  }

  Response AnswerFile(const std::string& path) {
    const StaticFiles::File file = context_->files.Find(path);
    if (file.bytes == nullptr) {
      if (path == "/" || path == "/index.html") {
        Response response = MakeText(http::status::service_unavailable, kNoViewer);
        response.set(http::field::content_type, "text/html; charset=utf-8");
        return response;
      }
      return MakeText(http::status::not_found, "not found\n");
    }
    const bool known = ToString(request_[http::field::if_none_match]) == file.etag;
    Response response =
        MakeText(known ? http::status::not_modified : http::status::ok, known ? "" : *file.bytes);
    response.set(http::field::content_type, file.type);
    response.set(http::field::etag, file.etag);
    response.set(http::field::cache_control, file.cache_control);
    return response;
  }

  Response MakeText(http::status status, std::string text) const {
    Response response{status, 11};
    response.set(http::field::server, "pliant");
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    if (context_->allowed_origins.empty()) response.set("X-Frame-Options", "SAMEORIGIN");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Content-Security-Policy",
                 absl::StrCat(kContentPolicy, absl::StrJoin(context_->allowed_origins, " ")));
    response.body() = std::move(text);
    return response;
  }

  void Send(Response response) {
    response.keep_alive(keep_alive_);
    response.prepare_payload();
    if (request_.method() == http::verb::head) response.body().clear();
    response_ = std::move(response);
    stream_.next_layer().expires_after(kIdleTime);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (error || !self->keep_alive_) return self->Close();
                        self->Read(kIdleTime);
                      });
  }

  void Upgrade() {
    if (!beast::websocket::is_upgrade(request_)) {
      Response response = MakeText(http::status::upgrade_required,
                                   "expected a WebSocket connection with subprotocol pliant.v1\n");
      response.set(http::field::upgrade, "websocket");
      return Send(std::move(response));
    }
    const std::string origin = ToString(request_[http::field::origin]);
    const std::string host = ToString(request_[http::field::host]);
    if (!IsOriginAllowed(origin, host, IsOwn(host), context_->allowed_origins)) {
      spdlog::warn("event=origin_refused origin=\"{}\" host=\"{}\"", origin.substr(0, 200),
                   host.substr(0, 200));
      keep_alive_ = false;
      return Send(MakeText(
          http::status::forbidden,
          "pages of this origin may not connect to this server; allow them with --allow-origin, or "
          "the name by which they reach it with --allow-host\n"));
    }
    if (!OffersProtocol(ToString(request_[http::field::sec_websocket_protocol]))) {
      keep_alive_ = false;
      return Send(
          MakeText(http::status::bad_request, "expected the WebSocket subprotocol pliant.v1\n"));
    }
    stream_.next_layer().expires_never();
    ServeWebSocket(std::move(stream_), std::move(request_), context_);
  }

  bool IsOwn(const std::string& host) const {
    return IsOwnHost(host, context_->loopback_only, context_->allowed_hosts);
  }

  static bool OffersProtocol(const std::string& offered) {
    for (const auto& token : http::token_list(offered)) {
      if (ToString(token) == kWebSocketProtocol) return true;
    }
    return false;
  }

  void Close() {
    beast::error_code ignored;
    stream_.next_layer().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  Connection stream_;
  GatewayContext* const context_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Response response_;
  bool keep_alive_ = false;
};

}  // namespace

void ServeConnection(Connection connection, GatewayContext* context) {
  std::make_shared<HttpSession>(std::move(connection), context)->Start();
}

}  // namespace pliant::server
