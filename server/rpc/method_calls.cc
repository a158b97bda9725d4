#include "server/rpc/method_calls.h"

#include <atomic>
#include <utility>
#include <vector>

#include "grpcpp/support/slice.h"

#include "server/rpc/grpc_status.h"

namespace pliant::server {
namespace {

using grpc::ByteBuffer;

// A call with one reply, which its client may cancel while it runs.
class UnaryCall final : public RpcCall {
 public:
  UnaryCall(Handlers* handlers, Callers* callers, std::string_view method,
            std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)),
        handlers_(handlers),
        callers_(callers),
        method_(method),
        call_(callers->MakeCall(context(), cancelled_)) {
    // several calls at the same time are served by other threads
    call_.lends_thread = callers_->EnterUnary() == 1;
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      return Reply(absl::InvalidArgumentError("the request is missing, cut off or too large"));
    }
    Dispatch(*handlers_, call_, method_, ReadBuffer(request_),
             [this](const absl::StatusOr<std::string>& reply) { Reply(reply); });
  }
  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { ExpectMessage(); }  // of the next call

  void Reply(const absl::StatusOr<std::string>& reply) {
    callers_->LeaveUnary();
    if (!reply.ok()) return Finish(ToGrpc(reply.status()));
    StartWriteAndFinish(WriteBuffer(*reply), grpc::Status::OK);
  }

  Handlers* const handlers_;
  Callers* const callers_;
  const std::string_view method_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Call call_;
  ByteBuffer request_;
};

class RefusedCall final : public RpcCall {
 public:
  RefusedCall(std::unique_ptr<Arrival> arrival, const absl::Status& why)
      : RpcCall(std::move(arrival)) {
    Finish(ToGrpc(why));
  }
};

}  // namespace

void ServeUnary(Handlers* handlers, Callers* callers, std::string_view method,
                std::unique_ptr<Arrival> arrival) {
  new UnaryCall(handlers, callers, method, std::move(arrival));
}

void Refuse(std::unique_ptr<Arrival> arrival, const absl::Status& why) {
  new RefusedCall(std::move(arrival), why);
}

absl::StatusOr<Call> AdmitStream(Handlers* handlers, Callers* callers, std::string_view method,
                                 const Arrival& arrival) {
  Call call = callers->MakeCall(arrival.context(), nullptr);
  const absl::StatusOr<Call> admitted = Admit(*handlers, call, method);
  if (!admitted.ok()) return admitted.status();
  return call;
}

std::string ReadBuffer(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

ByteBuffer WriteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

}  // namespace pliant::server
