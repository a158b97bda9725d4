// Permissions of every role for every method, over both transports.

#include <future>

#include "boost/asio/io_context.hpp"
#include "boost/beast/http.hpp"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "nlohmann/json.hpp"

#include "pliant/v1/record.pb.h"
#include "server/auth/tokens.h"
#include "server/service/methods.h"
#include "tests/server/auth/temporary_file.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

enum class Transport { kGrpc, kWebSocket };

struct Result {
  int code = 0;
  std::string message;
};

int Code(absl::StatusCode code) {
  return static_cast<int>(code);
}

class Roles : public ServerTest {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pliant-roles-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (const Role role : kRoles) tokens_[NameOf(role)] = Add(NameOf(role), NameOf(role), "");
    tokens_["soft"] = Add("soft", "admin", "team=soft");
    tokens_["others"] = Add("others", "admin", "team!=rigid");
    tokens_["none"] = "";
    tokens_["unknown"] = "pliant_unknown";
    ServerTest::SetUp();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Configure(ServeOptions* options) override {
    options->tokens_file = folder_ / "tokens.yaml";
    options->audit_log = folder_ / "audit.log";
    options->data_dir = folder_ / "data";
  }
  std::string Add(const std::string& name, const std::string& role, const std::string& worlds) {
    const auto token = AddToken(folder_ / "tokens.yaml", {name, role, worlds, ""});
    EXPECT_TRUE(token.ok()) << token.status();
    return *token;
  }

  std::unique_ptr<SocketClient> OpenSocket(const std::string& who, Result* hello = nullptr) {
    auto socket = std::make_unique<SocketClient>(&io_, server_->http_port(), kTimeout);
    v1::ClientMessage message;
    message.mutable_hello()->set_token(tokens_.at(who));
    const v1::ServerMessage reply = socket->Ask(message);
    if (hello != nullptr) *hello = {reply.status().code(), reply.status().message()};
    return socket;
  }

  Result Ask(Transport transport, const std::string& who, const std::string& method,
             const std::string& request) {
    return transport == Transport::kGrpc ? AskGrpc(who, method, request)
                                         : AskSocket(who, method, request);
  }

  // A stream is sent one message, like a call.
  Result AskGrpc(const std::string& who, const std::string& method, const std::string& request) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    if (!tokens_.at(who).empty()) context.AddMetadata("authorization", "Bearer " + tokens_.at(who));
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/" + method, grpc::StubOptions(), &sent, &received,
                   [&done](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    if (method == kCommandMethod && status.ok()) return ReadCommandResponse(received);
    return {status.error_code(), status.error_message()};
  }

  // A command is refused in its response.
  static Result ReadRefusal(const v1::CommandResponse& response) {
    const bool denied = response.refused().find("requires the role") != std::string::npos;
    return {denied                       ? Code(absl::StatusCode::kPermissionDenied)
            : response.refused().empty() ? 0
                                         : Code(absl::StatusCode::kInvalidArgument),
            response.refused()};
  }
  static Result ReadCommandResponse(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    v1::CommandResponse response;
    std::string bytes;
    if (buffer.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices)
        bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    EXPECT_TRUE(response.ParseFromString(bytes));
    return ReadRefusal(response);
  }

  Result AskSocket(const std::string& who, const std::string& method, const std::string& request) {
    const auto socket = OpenSocket(who);
    v1::ClientMessage message;
    if (method == kCommandMethod) {
      message.mutable_command()->ParseFromString(request);
      socket->Send(message);
      const v1::ServerMessage reply = socket->Receive();
      if (reply.has_command()) return ReadRefusal(reply.command());
      return {reply.status().code(), reply.status().message()};
    }
    if (method == kSubscribeMethod) {
      message.mutable_subscribe()->ParseFromString(request);
      message.mutable_subscribe()->mutable_subscription();
    } else {
      message.mutable_call()->set_method(method);
      message.mutable_call()->set_request(request);
    }
    const v1::ServerMessage reply = socket->Ask(message);
    return {reply.status().code(), reply.status().message()};
  }

  void CreateLabelled(const std::string& id, const std::string& team) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + tokens_.at("admin"));
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(kTestScene);
    (*request.mutable_labels())["team"] = team;
    v1::World world;
    const grpc::Status status = worlds_->CreateWorld(&context, request, &world);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(world.owner(), "admin");
  }

  http::response<http::string_body> FetchMetrics(const std::string& who) {
    auto socket = SocketClient::Connect(&io_, server_->http_port(), kTimeout);
    http::request<http::empty_body> request{http::verb::get, "/metrics", 11};
    request.set(http::field::host, "127.0.0.1");
    if (!tokens_.at(who).empty())
      request.set(http::field::authorization, "Bearer " + tokens_.at(who));
    http::write(socket, request);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(socket, buffer, response);
    return response;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> tokens_;  // by who has them
  boost::asio::io_context io_;
};

constexpr Transport kTransports[] = {Transport::kGrpc, Transport::kWebSocket};

// First message of a stream, complete enough for the check of the role.
std::string FirstMessage(const std::string& method) {
  if (method != kSubscribeMethod) return "";
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world("worlds/none");
  return request.SerializeAsString();
}

TEST_F(Roles, EachMethodNeedsItsRoleOverBothTransports) {
  for (const Method& method : Methods()) {
    for (const Transport transport : kTransports) {
      const std::string request = FirstMessage(method.name);
      const std::string where =
          absl::StrCat(method.name, transport == Transport::kGrpc ? " gRPC" : " WebSocket");
      for (const char* who : {"none", "unknown"}) {
        EXPECT_EQ(Ask(transport, who, method.name, request).code,
                  Code(absl::StatusCode::kUnauthenticated))
            << where << " " << who;
      }
      for (const Role role : kRoles) {
        const Result result = Ask(transport, NameOf(role), method.name, request);
        EXPECT_EQ(result.code == Code(absl::StatusCode::kPermissionDenied), role < method.role)
            << where << " " << NameOf(role) << ": " << result.message;
        EXPECT_NE(result.code, Code(absl::StatusCode::kUnauthenticated)) << where;
        if (role < method.role) {
          EXPECT_NE(result.message.find(absl::StrCat("requires the role ", NameOf(method.role))),
                    std::string::npos)
              << where << ": " << result.message;
        }
      }
    }
  }
}

// A request about one world; empty when the method is about none.
std::string RequestAbout(const std::string& method, const std::string& world) {
  if (method == kSubscribeMethod) {
    v1::SubscribeRequest subscribe;
    subscribe.mutable_subscription()->set_world(world);
    return subscribe.SerializeAsString();
  }
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  std::string name = method;
  std::replace(name.begin(), name.end(), '/', '.');
  const google::protobuf::MethodDescriptor* descriptor = pool->FindMethodByName(name);
  EXPECT_NE(descriptor, nullptr) << method;
  const std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(descriptor->input_type())
          ->New());
  for (const char* field_name : {"name", "world"}) {
    const google::protobuf::FieldDescriptor* field =
        descriptor->input_type()->FindFieldByName(field_name);
    if (field == nullptr) continue;
    message->GetReflection()->SetString(message.get(), field, world);
    return message->SerializeAsString();
  }
  return "";
}

TEST_F(Roles, RoleOnSomeWorldsIsNoneOnOthers) {
  CreateLabelled("a-rigid", "rigid");
  CreateLabelled("soft", "soft");
  v1::StartRecordingRequest start;
  start.set_world("worlds/a-rigid");
  start.set_recording_id("r");
  const auto admin = OpenSocket("admin");
  admin->Call<v1::Recording>("RecordService/StartRecording", start);
  std::set<std::string> about_no_world;
  for (const Method& method : Methods()) {
    const bool is_list = method.name == "pliant.v1.RecordService/ListRecordings";
    if (is_list || RequestAbout(method.name, "w").empty()) {
      about_no_world.insert(method.name);
      continue;
    }
    for (const Transport transport : kTransports) {
      // methods about recordings and checkpoints accept only names of that form
      int denied = 0;
      for (const char* name : {"worlds/a-rigid", "worlds/a-rigid/checkpoints/1", "recordings/r"}) {
        const Result result = Ask(transport, "soft", method.name, RequestAbout(method.name, name));
        if (result.code == Code(absl::StatusCode::kPermissionDenied)) ++denied;
        EXPECT_TRUE(result.code == Code(absl::StatusCode::kInvalidArgument) ||
                    result.code == Code(absl::StatusCode::kNotFound) ||
                    result.message.find(absl::StrCat("requires the role ", NameOf(method.role))) !=
                        std::string::npos)
            << method.name << ": " << result.code << " " << result.message;
      }
      EXPECT_GT(denied, 0) << method.name;
    }
  }
  // lists, CreateWorld, StepWorlds and Lockstep are tested below; GetServer names no world, and
  // objects belong to those who know their hash
  EXPECT_EQ(about_no_world,
            (std::set<std::string>{
                "pliant.v1.ObjectService/FetchObject", "pliant.v1.ObjectService/FindMissingObjects",
                "pliant.v1.ObjectService/UploadObject", "pliant.v1.RecordService/ListRecordings",
                "pliant.v1.WorldService/CreateWorld", "pliant.v1.WorldService/GetServer",
                "pliant.v1.WorldService/ListWorlds", "pliant.v1.WorldService/Lockstep",
                "pliant.v1.WorldService/StepWorlds"}));

  Result hello;
  const auto socket = OpenSocket("soft", &hello);
  EXPECT_EQ(hello.code, 0) << hello.message;
  const auto list =
      socket->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
  ASSERT_EQ(list.worlds_size(), 1);
  EXPECT_EQ(list.worlds(0).name(), "worlds/soft");
  for (const auto& [client, count] : {std::pair{socket.get(), 0}, {admin.get(), 1}}) {
    EXPECT_EQ(client
                  ->Call<v1::ListRecordingsResponse>("RecordService/ListRecordings",
                                                     v1::ListRecordingsRequest())
                  .recordings_size(),
              count);
  }
  v1::StepWorldsRequest step;
  for (const char* name : {"worlds/a-rigid", "worlds/soft"}) {
    step.add_requests()->set_name(name);
    step.mutable_requests()->rbegin()->set_steps(1);
  }
  int count = 0;
  for (const char* method : {"WorldService/StepWorlds", "WorldService/Lockstep"}) {
    const auto stepped = socket->Call<v1::StepWorldsResponse>(method, step);
    EXPECT_EQ(stepped.results(0).status().code(), Code(absl::StatusCode::kPermissionDenied));
    EXPECT_EQ(stepped.results(1).response().step(), ++count);
  }

  // its own worlds must carry the labels that its token is for
  v1::CreateWorldRequest create;
  create.set_world_id("more");
  create.set_scene_yaml(kTestScene);
  google::rpc::Status status;
  socket->Call<v1::World>("WorldService/CreateWorld", create, &status);
  EXPECT_EQ(status.code(), Code(absl::StatusCode::kPermissionDenied)) << status.message();
  (*create.mutable_labels())["team"] = "soft";
  EXPECT_EQ(socket->Call<v1::World>("WorldService/CreateWorld", create).owner(), "soft");
}

TEST_F(Roles, RecordingOfADeletedWorldKeepsItsLabelsWhateverANamesakeHas) {
  tokens_["rigid"] = Add("rigid", "viewer", "team=rigid");
  server_->Reload();
  CreateLabelled("w", "rigid");
  const auto admin = OpenSocket("admin");
  v1::StartRecordingRequest start;
  start.set_world("worlds/w");
  start.set_recording_id("r");
  admin->Call<v1::Recording>("RecordService/StartRecording", start);
  v1::DeleteWorldRequest remove;
  remove.set_name("worlds/w");
  admin->Call<google::protobuf::Empty>("WorldService/DeleteWorld", remove);
  CreateLabelled("w", "soft");
  v1::FetchRecordingRequest fetch;
  fetch.set_name("recordings/r");
  const std::string request = fetch.SerializeAsString();
  const char* method = "pliant.v1.RecordService/FetchRecording";
  const int denied = Code(absl::StatusCode::kPermissionDenied);
  for (const auto& [who, code] : std::map<std::string, int>{
           {"soft", denied}, {"others", denied}, {"rigid", 0}, {"viewer", 0}})
    EXPECT_EQ(Ask(Transport::kGrpc, who, method, request).code, code) << who;
  const auto list = OpenSocket("rigid")->Call<v1::ListRecordingsResponse>(
      "RecordService/ListRecordings", v1::ListRecordingsRequest());
  ASSERT_EQ(list.recordings_size(), 1);
  EXPECT_EQ(list.recordings(0).owner(), "admin");
  EXPECT_EQ(list.recordings(0).labels().at("team"), "rigid");
}

TEST_F(Roles, WelcomeNamesOnlyAWorldThatTheClientMayWatch) {
  CreateLabelled("default", "rigid");
  CreateLabelled("soft", "soft");
  for (const auto& [who, world] :
       std::map<std::string, std::string>{{"soft", "worlds/soft"}, {"viewer", "worlds/default"}}) {
    SocketClient socket(&io_, server_->http_port(), kTimeout);
    v1::ClientMessage hello;
    hello.mutable_hello()->set_token(tokens_.at(who));
    EXPECT_EQ(socket.Ask(hello).welcome().default_world(), world);
  }
}

TEST_F(Roles, CallerRoleIsReportedForEachWorld) {
  CreateLabelled("soft", "soft");
  const std::map<std::string, std::string> expected{
      {"viewer", "viewer"}, {"operator", "operator"}, {"admin", "admin"}, {"soft", "admin"}};
  for (const auto& [who, role] : expected) {
    const auto socket = OpenSocket(who);
    v1::GetWorldRequest request;
    request.set_name("worlds/soft");
    EXPECT_EQ(socket->Call<v1::World>("WorldService/GetWorld", request).caller_role(), role) << who;
    const auto list =
        socket->Call<v1::ListWorldsResponse>("WorldService/ListWorlds", v1::ListWorldsRequest());
    EXPECT_EQ(list.worlds(list.worlds_size() - 1).caller_role(), role) << who;
  }
}

TEST_F(Roles, ConnectionStaysWithItsUser) {
  const auto socket = OpenSocket("viewer");
  v1::ClientMessage hello;
  hello.mutable_hello()->set_token(tokens_.at("admin"));
  EXPECT_EQ(socket->Ask(hello).status().code(), Code(absl::StatusCode::kFailedPrecondition));
  google::rpc::Status status;
  socket->Call<v1::World>("WorldService/DeleteWorld", v1::DeleteWorldRequest(), &status);
  EXPECT_EQ(status.code(), Code(absl::StatusCode::kPermissionDenied));
}

TEST_F(Roles, WithdrawnTokenEndsStreamsAndConnections) {
  CreateLabelled("w", "soft");
  const auto socket = OpenSocket("soft");
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + tokens_.at("soft"));
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  const auto stream = streams_->Subscribe(&context);
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world("worlds/w");
  ASSERT_TRUE(stream->Write(request));
  v1::SubscribeResponse response;
  ASSERT_TRUE(stream->Read(&response));

  std::filesystem::remove(folder_ / "tokens.yaml");
  tokens_["new"] = Add("new", "viewer", "");
  server_->Reload();
  while (stream->Read(&response)) {
  }
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();

  beast::error_code error;
  beast::flat_buffer buffer;
  while (!error) {
    buffer.clear();
    socket->stream().read(buffer, error);
  }
  EXPECT_EQ(error, beast::websocket::error::closed);
  EXPECT_EQ(socket->stream().reason().code, beast::websocket::close_code::policy_error);

  Result hello;
  OpenSocket("soft", &hello);
  EXPECT_EQ(hello.code, Code(absl::StatusCode::kUnauthenticated));
  OpenSocket("new", &hello);
  EXPECT_EQ(hello.code, 0) << hello.message;
}

TEST_F(Roles, SocketThatGuessesTokensIsClosed) {
  const auto socket = OpenSocket("unknown");
  beast::error_code error;
  for (int i = 0; i < 100 && !error; ++i) {
    v1::ClientMessage hello;
    hello.set_request_id(1);
    hello.mutable_hello()->set_token(absl::StrCat("guess-", i));
    socket->stream().write(boost::asio::buffer(hello.SerializeAsString()), error);
    beast::flat_buffer buffer;
    if (!error) socket->stream().read(buffer, error);
  }
  EXPECT_EQ(error, beast::websocket::error::closed) << error.message();
  EXPECT_EQ(socket->stream().reason().code, beast::websocket::close_code::policy_error);
}

TEST_F(Roles, TokenInAnAddressIsNoToken) {
  auto socket = SocketClient::Connect(&io_, server_->http_port(), kTimeout);
  http::request<http::empty_body> request{
      http::verb::get,
      "/metrics?token=" + tokens_.at("admin") + "&authorization=Bearer%20" + tokens_.at("admin"),
      11};
  request.set(http::field::host, "127.0.0.1");
  http::write(socket, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response);
  EXPECT_EQ(response.result_int(), 401u);
}

TEST_F(Roles, MetricsNeedAViewerOfEveryWorld) {
  CreateLabelled("secret", "rigid");
  EXPECT_EQ(FetchMetrics("none").result_int(), 401u);
  EXPECT_EQ(FetchMetrics("unknown").result_int(), 401u);
  EXPECT_EQ(FetchMetrics("soft").result_int(), 403u);
  EXPECT_EQ(FetchMetrics("soft").body().find("secret"), std::string::npos);
  const auto metrics = FetchMetrics("viewer");
  EXPECT_EQ(metrics.result_int(), 200u);
  EXPECT_NE(metrics.body().find("secret"), std::string::npos);
}

TEST_F(Roles, AuditLogHasChangesAndRefusals) {
  CreateLabelled("w", "rigid");
  v1::StopWorldRequest stop;
  stop.set_world("worlds/w");
  Ask(Transport::kWebSocket, "viewer", "pliant.v1.ControlService/StopWorld",
      stop.SerializeAsString());
  v1::GetWorldRequest get;
  get.set_name("worlds/w");
  Ask(Transport::kGrpc, "viewer", "pliant.v1.WorldService/GetWorld", get.SerializeAsString());
  Ask(Transport::kGrpc, "soft", "pliant.v1.WorldService/GetWorld", get.SerializeAsString());
  Ask(Transport::kGrpc, "none", "pliant.v1.WorldService/GetWorld", get.SerializeAsString());
  server_.reset();

  std::ifstream file(folder_ / "audit.log");
  std::vector<std::array<std::string, 4>> seen;
  for (std::string line; std::getline(file, line);) {
    const auto entry = nlohmann::json::parse(line);
    const std::string who = entry.at("who");
    seen.push_back(
        {who.substr(0, 4), entry.at("what"), entry.value("world", ""), entry.at("result")});
    for (const auto& [owner, token] : tokens_) {
      const bool is_in_log = !token.empty() && line.find(token) != std::string::npos;
      EXPECT_FALSE(is_in_log) << owner;
    }
  }
  const std::vector<std::array<std::string, 4>> expected = {
      {"admi", "pliant.v1.WorldService/CreateWorld", "worlds/w", "OK"},
      {"view", "pliant.v1.ControlService/StopWorld", "worlds/w", "OK"},
      {"soft", "pliant.v1.WorldService/GetWorld", "worlds/w", "PERMISSION_DENIED"},
      {"grpc", "pliant.v1.WorldService/GetWorld", "", "UNAUTHENTICATED"}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace pliant::server
