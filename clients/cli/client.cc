#include "clients/cli/client.h"

#include <vector>

#include "google/protobuf/empty.pb.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/util/json_util.h"
#include "grpcpp/channel.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/slice.h"

namespace pliant::clients {
namespace {

constexpr int kMaxReceivedBytes = 256 << 20;
constexpr double kUsualTimeout = 10;  // [s]

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
    channel_ =
        grpc::CreateCustomChannel(options_.server, grpc::InsecureChannelCredentials(), arguments);
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

void Client::Prepare(grpc::ClientContext* context, bool may_take_long) const {
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
  // the health service is not of this project: its reply is one enum, field 1
  grpc::ClientContext context;
  Prepare(&context, false);
  grpc::GenericStub stub(Connect());
  grpc::CompletionQueue queue;
  grpc::ByteBuffer request, response;
  const grpc::Slice nothing("");
  request = grpc::ByteBuffer(&nothing, 1);
  grpc::Status status;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  Check(status);

  std::string bytes;
  std::vector<grpc::Slice> slices;
  response.Dump(&slices);
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  google::protobuf::Empty fields;
  if (!fields.ParseFromString(bytes)) {
    throw CommandError(kRefused, "the server's health reply cannot be read");
  }
  const auto& unknown = fields.GetReflection()->GetUnknownFields(fields);
  const std::uint64_t value = unknown.field_count() > 0 ? unknown.field(0).varint() : 0;
  return value == 1 ? "SERVING" : value == 2 ? "NOT_SERVING" : "UNKNOWN";
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
