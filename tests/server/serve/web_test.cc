// HTTP and WebSocket, against a real server, with a client independent of the server's code.

#include <filesystem>
#include <fstream>
#include <optional>

#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/beast/websocket.hpp"
#include "google/rpc/error_details.pb.h"

#include "pliant/v1/gateway.pb.h"
#include "server/service/methods.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace fs = std::filesystem;
using boost::asio::ip::tcp;

class Web : public ServerTest {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pliant-web-" + std::to_string(getpid()));
    fs::create_directories(folder_ / "viewer/assets");
    std::ofstream(folder_ / "viewer/index.html") << "<!doctype html>viewer";
    std::ofstream(folder_ / "viewer/assets/main-1234.js") << "let x = 1;";
    std::ofstream(folder_ / "viewer/.hidden") << "hidden";
    std::ofstream(folder_ / "secret.txt") << "secret";
    std::error_code ignored;
    fs::create_symlink(folder_ / "secret.txt", folder_ / "viewer/link.txt", ignored);
    viewer_dir_ = (folder_ / "viewer").string();
    ServerTest::SetUp();
  }
  void TearDown() override {
    server_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  tcp::socket Connect() {
    // fail rather than hang if no answer comes
    return SocketClient::Connect(&io_, server_->http_port(), kTimeout);
  }

  http::response<http::string_body> Fetch(const std::string& target,
                                          http::verb verb = http::verb::get,
                                          const std::string& etag = "") {
    tcp::socket socket = Connect();
    http::request<http::string_body> request{verb, target, 11};
    request.set(http::field::host, Host());
    if (!etag.empty()) request.set(http::field::if_none_match, etag);
    http::write(socket, request);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.skip(verb == http::verb::head);
    http::read(socket, buffer, parser);
    return parser.release();
  }

  std::string Host() const { return "127.0.0.1:" + std::to_string(server_->http_port()); }

  // Status of the handshake: 101 when accepted.
  int Knock(const std::string& origin, const std::string& host,
            const std::string& protocol = "pliant.v1") {
    tcp::socket socket = Connect();
    http::request<http::empty_body> request{http::verb::get, "/ws", 11};
    request.set(http::field::host, host);
    if (!origin.empty()) request.set(http::field::origin, origin);
    request.set(http::field::upgrade, "websocket");
    request.set(http::field::connection, "upgrade");
    request.set(http::field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
    request.set(http::field::sec_websocket_version, "13");
    if (!protocol.empty()) request.set(http::field::sec_websocket_protocol, protocol);
    http::write(socket, request);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::response_parser<http::string_body> parser;
    http::read_header(socket, buffer, parser);
    return parser.get().result_int();
  }

  std::unique_ptr<SocketClient> OpenSocket() {
    return std::make_unique<SocketClient>(&io_, server_->http_port(), kTimeout);
  }

  fs::path folder_;
  boost::asio::io_context io_;
};

TEST_F(Web, ServesTheViewerWithTypesAndCaching) {
  const auto index = Fetch("/");
  EXPECT_EQ(index.result_int(), 200u);
  EXPECT_EQ(index.body(), "<!doctype html>viewer");
  EXPECT_EQ(index[http::field::content_type], "text/html; charset=utf-8");
  EXPECT_EQ(index[http::field::cache_control], "no-cache");
  EXPECT_NE(index["Content-Security-Policy"].find("default-src 'self'"), beast::string_view::npos);
  const auto script = Fetch("/assets/main-1234.js?v=2");
  EXPECT_EQ(script.body(), "let x = 1;");
  EXPECT_EQ(script[http::field::content_type], "text/javascript; charset=utf-8");
  EXPECT_NE(script[http::field::cache_control].find("immutable"), beast::string_view::npos);

  const std::string etag(script[http::field::etag].data(), script[http::field::etag].size());
  const auto again = Fetch("/assets/main-1234.js", http::verb::get, etag);
  EXPECT_EQ(again.result_int(), 304u);
  EXPECT_EQ(again.body(), "");
  EXPECT_EQ(Fetch("/", http::verb::head).result_int(), 200u);
  EXPECT_EQ(Fetch("/", http::verb::post).result_int(), 405u);
  EXPECT_EQ(Fetch("/nothing.js").result_int(), 404u);
}

TEST_F(Web, NoPathLeavesTheViewersFolder) {
  for (const char* path :
       {"/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt", "//etc/passwd", "/link.txt", "/.hidden", "/%00",
        "/..\\secret.txt", "secret.txt", "/assets"}) {
    const auto response = Fetch(path);
    EXPECT_GE(response.result_int(), 400u) << path;
    EXPECT_EQ(response.body().find("secret"), std::string::npos) << path;
  }
}

TEST_F(Web, TellsHealthAndMetrics) {
  ASSERT_TRUE(Create("w").ok());
  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("w", 7, &stepped).ok());
  EXPECT_NE(Fetch("/healthz").body().find("serving"), std::string::npos);
  const std::string metrics = Fetch("/metrics").body();
  EXPECT_NE(metrics.find("\npliant_worlds 1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\npliant_steps_total{world=\"w\"} 7\n"), std::string::npos) << metrics;
}

TEST_F(Web, MetricsTellOfStepsThatDidNotConverge) {
  ASSERT_TRUE(Create("sound").ok());
  ASSERT_TRUE(Create("faulty", kFaultyScene).ok());
  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("sound", 7, &stepped).ok());
  EXPECT_FALSE(Step("faulty", 100, &stepped).ok());
  const std::string metrics = Fetch("/metrics").body();
  for (const char* line : {"pliant_steps_not_converged_total{world=\"sound\"} 0",
                           "pliant_steps_not_converged_total{world=\"faulty\"} 1",
                           "pliant_steps_ended_total{world=\"sound\",reason=\"CONVERGED\"} 7",
                           "pliant_compromises_total{world=\"sound\",kind=\"friction_clamped\"} 0",
                           "pliant_faults_total{world=\"faulty\"} 1"})
    EXPECT_NE(metrics.find(absl::StrCat("\n", line, "\n")), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\npliant_last_step_residual{world=\"faulty\"} "), std::string::npos);
}

TEST_F(Web, MetricsHaveTheLatenessOfSteps) {
  ASSERT_TRUE(Create("timed").ok());
  ASSERT_TRUE(RunInRealTime("timed").ok());
  ASSERT_TRUE(WaitUntil([&] { return Get("timed").step() > 20; }));
  const std::string metrics = Fetch("/metrics").body();
  const std::string name = "\npliant_step_start_lateness_seconds";
  const auto read = [&](const std::string& line) {
    const std::size_t at = metrics.find(line);
    EXPECT_NE(at, std::string::npos) << line << metrics;
    return at == std::string::npos ? -1 : std::stoi(metrics.substr(at + line.size()));
  };
  const int all = read(name + "_bucket{world=\"timed\",le=\"+Inf\"} ");
  EXPECT_GT(all, 20) << metrics;
  EXPECT_EQ(read(name + "_count{world=\"timed\"} "), all);
  EXPECT_LE(read(name + "_bucket{world=\"timed\",le=\"0.001\"} "), all);
}

TEST_F(Web, OnlyOwnPagesMayOpenASocket) {
  const std::string host = Host();
  EXPECT_EQ(Knock("http://" + host, host), 101);
  EXPECT_EQ(Knock("", host), 101);  // not a browser
  EXPECT_EQ(Knock("http://evil.example", host), 403);
  EXPECT_EQ(Knock("http://127.0.0.1:1", host), 403);
  EXPECT_EQ(Knock("null", host), 403);
  // DNS rebinding: a foreign name that resolves to this machine
  EXPECT_EQ(Knock("http://evil.example:80", "evil.example:80"), 403);
  EXPECT_EQ(Knock("http://" + host, host, ""), 400);
  EXPECT_EQ(Knock("http://" + host, host, "chat"), 400);
}

TEST_F(Web, SocketGreetsDescribesAndStreams) {
  ASSERT_TRUE(Create("default").ok());
  ASSERT_TRUE(RunInRealTime("default").ok());
  const auto socket = OpenSocket();
  v1::ClientMessage hello;
  hello.mutable_hello()->set_client("test");
  const v1::ServerMessage welcome = socket->Ask(hello);
  EXPECT_EQ(welcome.welcome().version(), "test");
  EXPECT_EQ(welcome.welcome().default_world(), "worlds/default");

  v1::DescribeWorldRequest describe;
  describe.set_name("worlds/default");
  const auto world = socket->Call<v1::WorldDescription>("WorldService/DescribeWorld", describe);
  EXPECT_EQ(world.rigid_bodies_size(), 3);

  v1::ClientMessage subscribe;
  subscribe.mutable_subscribe()->mutable_subscription()->set_world("worlds/default");
  EXPECT_EQ(socket->Ask(subscribe).status().code(), 0);
  std::int64_t last = -1;
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const v1::ServerMessage message = socket->Receive();
    ASSERT_TRUE(message.has_stream());
    const v1::Frame& frame = message.stream().frame();
    EXPECT_EQ(frame.frame(), number);
    EXPECT_GT(frame.step(), last);
    last = frame.step();
    EXPECT_EQ(frame.deformables_size(), 1);
    v1::ClientMessage ack;
    ack.mutable_subscribe()->mutable_ack()->set_frame(number);
    socket->Send(ack);
  }

  v1::GetWorldRequest missing;
  missing.set_name("worlds/missing");
  google::rpc::Status status;
  socket->Call<v1::World>("WorldService/GetWorld", missing, &status);
  EXPECT_EQ(status.code(), 5);
}

TEST_F(Web, SocketAnswersEveryMethodThatRepliesOnce) {
  const auto socket = OpenSocket();
  for (const Method& method : Methods()) {
    v1::ClientMessage call;
    call.mutable_call()->set_method(method.name);
    const int code = socket->Ask(call).status().code();
    // streams have messages of their own in the envelope
    EXPECT_EQ(code == static_cast<int>(absl::StatusCode::kUnimplemented), !method.handle)
        << method.name;
  }
}

TEST_F(Web, CallThatRunsOutOfTimeEndsBetweenTwoSteps) {
  ASSERT_TRUE(Create("w").ok());
  const auto socket = OpenSocket();
  v1::StepWorldRequest step;
  step.set_name("worlds/w");
  step.set_steps(10'000'000);
  v1::ClientMessage call;
  call.mutable_call()->set_method("pliant.v1.WorldService/StepWorld");
  call.mutable_call()->set_request(step.SerializeAsString());
  call.mutable_call()->set_timeout(0.1);
  const google::rpc::Status status = socket->Ask(call).status();
  EXPECT_EQ(status.code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  call.mutable_call()->set_timeout(-1);
  EXPECT_EQ(socket->Ask(call).status().code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(Web, SocketTellsWhichFieldOfASceneIsWrong) {
  const auto socket = OpenSocket();
  v1::CreateWorldRequest create;
  create.set_scene_yaml(
      "name: x\nbodies: [{name: a, rigid: {motion: FREE, density: 0, shapes: [{sphere: {radius: "
      "1}}]}}]\n");
  google::rpc::Status status;
  socket->Call<v1::World>("WorldService/CreateWorld", create, &status);
  EXPECT_EQ(status.code(), 3);
  ASSERT_EQ(status.details_size(), 1);
  google::rpc::BadRequest details;
  ASSERT_TRUE(details.ParseFromString(status.details(0).value()));
  EXPECT_EQ(details.field_violations(0).field(), "bodies[0].rigid.density");
}

TEST_F(Web, SocketDrivesABodyAndLetsGoWhenItCloses) {
  ASSERT_TRUE(Create("default").ok());
  ASSERT_TRUE(RunInRealTime("default").ok());
  auto socket = OpenSocket();
  v1::ClientMessage hello;
  hello.mutable_hello()->set_client("page");
  socket->Ask(hello);
  v1::AcquireLeaseRequest acquire;
  acquire.set_world("worlds/default");
  acquire.set_target("paddle");
  const auto lease = socket->Call<v1::Lease>("ControlService/AcquireLease", acquire);
  EXPECT_EQ(lease.client(), "page");
  ASSERT_FALSE(lease.lease_id().empty());

  // feedback has the step in which the command was applied
  std::uint64_t sequence = 0;
  EXPECT_TRUE(WaitUntil([&] {
    v1::ClientMessage command;
    command.mutable_command()->set_world("worlds/default");
    command.mutable_command()->set_lease_id(lease.lease_id());
    command.mutable_command()->set_sequence(++sequence);
    for (const double v : {0.0, 0.0, 0.2})
      command.mutable_command()->mutable_twist()->add_linear(v);
    socket->Send(command);
    const v1::ServerMessage message = socket->Receive();
    EXPECT_EQ(message.command().refused(), "");
    EXPECT_EQ(message.command().lease_id(), lease.lease_id());
    EXPECT_EQ(message.command().target(), "paddle");
    return message.command().applied_step() > 0;
  }));

  socket.reset();  // the page disappears without closing the session
  v1::Lease other;
  grpc::Status status;
  EXPECT_TRUE(WaitUntil([&] {
    status = Acquire("default", "paddle", "page", false, &other, lease.lease_id());
    return !status.ok();
  }));
  EXPECT_NE(status.error_message().find("was released"), std::string::npos)
      << status.error_message();
}

TEST_F(Web, SocketThatTalksNonsenseIsClosedAlone) {
  const auto good = OpenSocket();
  const auto bad = OpenSocket();
  bad->stream().write(boost::asio::buffer(std::string("\xff\xff\xff\xff nonsense")));
  beast::flat_buffer buffer;
  beast::error_code error;
  bad->stream().read(buffer, error);
  EXPECT_EQ(error, beast::websocket::error::closed);
  EXPECT_EQ(bad->stream().reason().code, beast::websocket::close_code::bad_payload);
  good->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
}

TEST_F(Web, SocketThatLeavesRepliesUnreadIsDisconnectedAlone) {
  ASSERT_TRUE(Create("default").ok());
  const auto good = OpenSocket();
  const auto stuck = OpenSocket();
  v1::DescribeWorldRequest describe;
  describe.set_name("worlds/default");
  v1::ClientMessage call;
  call.set_request_id(1);
  call.mutable_call()->set_method("pliant.v1.WorldService/DescribeWorld");
  call.mutable_call()->set_request(describe.SerializeAsString());
  const std::string bytes = call.SerializeAsString();

  // it keeps sending requests and never reads
  const timeval quick{0, 200'000};
  setsockopt(stuck->stream().next_layer().native_handle(), SOL_SOCKET, SO_SNDTIMEO, &quick,
             sizeof quick);
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  beast::error_code error;
  while (!error && std::chrono::steady_clock::now() < end)
    stuck->stream().write(boost::asio::buffer(bytes), error);
  EXPECT_TRUE(error);
  good->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
}

}  // namespace
}  // namespace pliant::server
