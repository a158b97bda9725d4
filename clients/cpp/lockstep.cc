#include "pliant/lockstep.h"

#include <string>
#include <utility>

#include "clients/cpp/connection.h"
#include "pliant/client.h"
#include "pliant/errors.h"

namespace pliant {
namespace {

constexpr char kLockstep[] = "/pliant.v1.WorldService/Lockstep";

}  // namespace

struct Lockstep::Stream {
  explicit Stream(Connection* connection)
      : context(connection), messages(connection->Open(kLockstep, &context)) {}

  Connection::Context context;
  const std::unique_ptr<Connection::ByteStream> messages;
  grpc::ByteBuffer received;
  std::string bytes;
};

Lockstep::Lockstep(std::shared_ptr<Client> client) : client_(std::move(client)) {}

Lockstep::~Lockstep() {
  if (stream_ == nullptr) return;
  stream_->messages->WritesDone();
  stream_->messages->Finish();
}

absl::StatusOr<v1::StepWorldsResponse> Lockstep::Step(const v1::StepWorldsRequest& request) {
  const std::lock_guard lock(mutex_);
  return Exchange(request);
}

absl::StatusOr<v1::StepWorldResponse> Lockstep::Step(const v1::StepWorldRequest& request) {
  v1::StepWorldsRequest alone;
  *alone.add_requests() = request;
  absl::StatusOr<v1::StepWorldsResponse> stepped = Step(alone);
  if (!stepped.ok()) return stepped.status();
  if (stepped->results_size() != 1)
    return absl::DataLossError("the reply to a step of one world has no result");
  v1::StepWorldResult& result = *stepped->mutable_results(0);
  if (result.has_status()) return ReadStatus(result.status());
  return std::move(*result.mutable_response());
}

absl::StatusOr<v1::StepWorldsResponse> Lockstep::Exchange(const v1::StepWorldsRequest& request) {
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>(client_->connection().get());
  if (!stream_->messages->Write(ToBuffer(request)) ||
      !stream_->messages->Read(&stream_->received)) {
    const absl::Status ended = EndStream();
    return ended.ok() ? absl::UnavailableError("the server ended the stream") : ended;
  }
  CopyBytes(stream_->received, &stream_->bytes);
  v1::StepWorldsResponse response;
  if (response.ParseFromString(stream_->bytes)) return response;
  stream_->context->TryCancel();
  EndStream().IgnoreError();
  return absl::DataLossError("the reply is not a StepWorldsResponse");
}

// Closes the stream and returns the reason for which the server ended it.
absl::Status Lockstep::EndStream() {
  const absl::Status status = client_->connection()->Translate(stream_->messages->Finish());
  stream_.reset();
  return status;
}

}  // namespace pliant
