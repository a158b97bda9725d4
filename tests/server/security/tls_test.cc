// TLS on both ports, with and without certificates of clients, and certificates that change.

#include <filesystem>
#include <fstream>

#include "boost/asio/io_context.hpp"
#include "boost/asio/ssl/context.hpp"
#include "boost/asio/ssl/stream.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/beast/ssl.hpp"
#include "boost/beast/websocket.hpp"
#include "boost/beast/websocket/ssl.hpp"

#include "pliant/v1/gateway.pb.h"
#include "tests/server/auth/certificate_maker.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = boost::asio::ssl;
using SslStream = ssl::stream<boost::asio::ip::tcp::socket>;

class Tls : public ServerTest {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pliant-tls-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Put(authority_.Make("server"));
    std::ofstream(folder_ / "clients.pem") << clients_.certificate();
    ServerTest::SetUp();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Configure(ServeOptions* options) override {
    options->tls_cert = folder_ / "cert.pem";
    options->tls_key = folder_ / "key.pem";
    if (asks_clients_) options->client_ca = folder_ / "clients.pem";
  }
  void Put(const CertificateMaker::Pair& pair) const {
    std::ofstream(folder_ / "cert.pem") << pair.certificate;
    std::ofstream(folder_ / "key.pem") << pair.key;
  }

  // Status of a call over gRPC on a connection of its own.
  grpc::Status CallGrpc(const CertificateMaker::Pair& own, std::string* shown = nullptr) const {
    const auto channel =
        server::Connect(server_->grpc_address(),
                        grpc::SslCredentials({authority_.certificate(), own.key, own.certificate}));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::ServerInfo info;
    const grpc::Status status =
        v1::WorldService::NewStub(channel)->GetServer(&context, v1::GetServerRequest(), &info);
    if (shown != nullptr) {
      const auto names = context.auth_context()->FindPropertyValues("x509_common_name");
      *shown = names.empty() ? "" : std::string(names[0].data(), names[0].size());
    }
    return status;
  }

  // Connects over TLS; throws boost::system::system_error when the handshake fails.
  std::unique_ptr<SslStream> Connect(const CertificateMaker::Pair& own) {
    ssl::context context(ssl::context::tls_client);
    context.set_verify_mode(ssl::verify_peer);
    context.add_certificate_authority(boost::asio::buffer(authority_.certificate()));
    if (!own.certificate.empty()) {
      context.use_certificate(boost::asio::buffer(own.certificate), ssl::context::pem);
      context.use_private_key(boost::asio::buffer(own.key), ssl::context::pem);
    }
    auto stream = std::make_unique<SslStream>(
        SocketClient::Connect(&io_, server_->http_port(), kTimeout), context);
    stream->handshake(ssl::stream_base::client);
    return stream;
  }

  unsigned Fetch(SslStream& stream, const std::string& target) {
    http::request<http::empty_body> request{http::verb::get, target, 11};
    request.set(http::field::host, "127.0.0.1");
    http::write(stream, request);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(stream, buffer, response);
    return response.result_int();
  }

  // Status of /healthz; 0 when the connection fails. TLS 1.3 refuses a client after its handshake.
  unsigned FetchHealth(const CertificateMaker::Pair& own) {
    try {
      return Fetch(*Connect(own), "/healthz");
    } catch (const boost::system::system_error&) {
      return 0;
    }
  }

  static std::string NameShownBy(SslStream& stream) {
    X509* certificate = SSL_get_peer_certificate(stream.native_handle());
    std::string name(64, '\0');
    const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
    X509_free(certificate);
    name.resize(size);
    return name;
  }

  const CertificateMaker authority_{"authority"}, clients_{"clients"};
  bool asks_clients_ = false;
  std::filesystem::path folder_;
  boost::asio::io_context io_;
};

class MutualTls : public Tls {
 protected:
  MutualTls() { asks_clients_ = true; }
};

TEST_F(Tls, ServesBothPorts) {
  EXPECT_EQ(server_->http_address().rfind("https://", 0), 0u);
  EXPECT_TRUE(CallGrpc({}).ok()) << CallGrpc({}).error_message();
  const auto stream = Connect({});
  EXPECT_EQ(Fetch(*stream, "/healthz"), 200u);
  EXPECT_EQ(Fetch(*stream, "/metrics"), 200u);  // on the same connection
}

TEST_F(Tls, CarriesWebSocketsOfItsOwnPages) {
  beast::websocket::stream<SslStream> socket(std::move(*Connect({})));
  const std::string host = "127.0.0.1:" + std::to_string(server_->http_port());
  socket.set_option(beast::websocket::stream_base::decorator([&](auto& request) {
    request.set(http::field::sec_websocket_protocol, "pliant.v1");
    request.set(http::field::origin, "https://" + host);
  }));
  socket.handshake(host, "/ws");
  socket.binary(true);
  v1::ClientMessage hello;
  hello.set_request_id(7);
  hello.mutable_hello()->set_client("page");
  socket.write(boost::asio::buffer(hello.SerializeAsString()));
  beast::flat_buffer buffer;
  socket.read(buffer);
  v1::ServerMessage reply;
  ASSERT_TRUE(reply.ParseFromArray(buffer.data().data(), static_cast<int>(buffer.size())));
  EXPECT_EQ(reply.request_id(), 7u);
  EXPECT_EQ(reply.welcome().version(), "test");
  beast::error_code error;
  socket.close(beast::websocket::close_code::normal, error);
  EXPECT_FALSE(error && error != ssl::error::stream_truncated) << error.message();
}

TEST_F(Tls, PlainClientsAreReferredToHttps) {
  auto socket = SocketClient::Connect(&io_, server_->http_port(), kTimeout);
  http::request<http::empty_body> request{http::verb::get, "/", 11};
  request.set(http::field::host, "127.0.0.1");
  http::write(socket, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response);
  EXPECT_EQ(response.result_int(), 400u);
  EXPECT_NE(response.body().find("https://"), std::string::npos) << response.body();

  // the channel of the base class has no TLS
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::ServerInfo info;
  EXPECT_EQ(worlds_->GetServer(&context, v1::GetServerRequest(), &info).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(MutualTls, AdmitsOnlyClientsOfItsAuthority) {
  const auto good = clients_.Make("alice");
  EXPECT_TRUE(CallGrpc(good).ok()) << CallGrpc(good).error_message();
  EXPECT_EQ(FetchHealth(good), 200u);
  const CertificateMaker foreign("clients");
  for (const CertificateMaker::Pair& bad :
       {CertificateMaker::Pair{}, foreign.Make("alice"), clients_.Make("alice", -7200, -3600)}) {
    EXPECT_FALSE(CallGrpc(bad).ok());
    EXPECT_EQ(FetchHealth(bad), 0u);
  }
}

TEST_F(Tls, ChangedCertificateIsShownToNewConnectionsAndOldOnesGoOn) {
  const auto old = Connect({});
  EXPECT_EQ(NameShownBy(*old), "server");
  Put(authority_.Make("renewed"));
  server_->Reload();
  EXPECT_EQ(NameShownBy(*Connect({})), "renewed");
  EXPECT_EQ(Fetch(*old, "/healthz"), 200u);
  std::string shown;
  EXPECT_TRUE(WaitUntil([&] { return CallGrpc({}, &shown).ok() && shown == "renewed"; }));
}

TEST_F(Tls, ChangedCertificateIsNoticedWithoutASignal) {
  Put(authority_.Make("renewed"));
  EXPECT_TRUE(WaitUntil([&] { return NameShownBy(*Connect({})) == "renewed"; }));
}

TEST_F(Tls, ExpiredOrBrokenRenewalLeavesThePresentCertificateInUse) {
  for (const auto& pair : {authority_.Make("expired", -7200, -3600),
                           CertificateMaker::Pair{"no certificate", "no key"}}) {
    Put(pair);
    server_->Reload();
    EXPECT_EQ(NameShownBy(*Connect({})), "server");
  }
  std::string shown;
  EXPECT_TRUE(CallGrpc({}, &shown).ok());
  EXPECT_EQ(shown, "server");
}

TEST_F(Tls, ServerWithAnExpiredCertificateDoesNotStart) {
  Put(authority_.Make("expired", -7200, -3600));
  ServeOptions options;
  options.grpc_port = 0;
  options.http_port = 0;
  Configure(&options);
  const auto server = Server::Start(options, nullptr);
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.status().message().find("cert.pem: the certificate has expired at"),
            std::string::npos)
      << server.status();
}

}  // namespace
}  // namespace pliant::server
