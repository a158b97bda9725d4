#include "clients/cli/client.h"

#include <fstream>
#include <iterator>

#include "google/protobuf/util/json_util.h"
#include "grpcpp/channel.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

#include "grpc/health/v1/health.grpc.pb.h"

namespace pliant::clients {
namespace {

constexpr int kMaxReceivedBytes = 256 << 20;
constexpr double kUsualTimeout = 10;  // [s]

std::string ReadPem(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw CommandError(kUnreachable, "cannot read " + path + "; check the path");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const Client::Options& options) {
  if (!options.tls && options.ca.empty() && options.cert.empty())
    return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({ReadPem(options.ca), ReadPem(options.key), ReadPem(options.cert)});
}

}  // namespace

std::shared_ptr<grpc::Channel> Client::Connect() {
  if (channel_ == nullptr) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_ = grpc::CreateCustomChannel(options_.server, MakeCredentials(options_), arguments);
  }
  return channel_;
}

v1::WorldService::Stub& Client::worlds() {
  if (worlds_ == nullptr) worlds_ = v1::WorldService::NewStub(Connect());
  return *worlds_;
}

v1::StreamService::Stub& Client::streams() {
  if (streams_ == nullptr) streams_ = v1::StreamService::NewStub(Connect());
  return *streams_;
}

v1::ControlService::Stub& Client::control() {
  if (control_ == nullptr) control_ = v1::ControlService::NewStub(Connect());
  return *control_;
}

v1::RecordService::Stub& Client::records() {
  if (records_ == nullptr) records_ = v1::RecordService::NewStub(Connect());
  return *records_;
}

v1::ObjectService::Stub& Client::objects() {
  if (objects_ == nullptr) objects_ = v1::ObjectService::NewStub(Connect());
  return *objects_;
}

void Client::Prepare(grpc::ClientContext* context, bool may_take_long) const {
  if (!options_.token.empty()) context->AddMetadata("authorization", "Bearer " + options_.token);
  const double timeout = options_.timeout > 0 ? options_.timeout
                         : may_take_long      ? 0
                                              : kUsualTimeout;
  if (timeout <= 0) return;
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * timeout)));
}

void Client::Check(const grpc::Status& status) const {
  if (status.ok()) return;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    throw CommandError(
        kUnreachable,
        "no server answers at " + options_.server + " (" + status.error_message() +
            ")\n    Start one with `pliantd`, or name another with --server HOST:PORT "
            "or PLIANT_SERVER.");
  }
  throw CommandError(kRefused, status.error_message());
}

std::string Client::CheckHealth() {
  using grpc::health::v1::Health, grpc::health::v1::HealthCheckResponse;
  grpc::ClientContext context;
  Prepare(&context, false);
  HealthCheckResponse response;
  Check(Health::NewStub(Connect())->Check(&context, {}, &response));
  return HealthCheckResponse::ServingStatus_Name(response.status());
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) throw CommandError(kRefused, std::string(status.message()));
  return json;
}

std::string WorldName(const std::string& world) {
  return world.rfind("worlds/", 0) == 0 ? world : "worlds/" + world;
}

}  // namespace pliant::clients
