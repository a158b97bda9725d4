#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

#include "pliant/v1/stream.pb.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/method_calls.h"
#include "server/service/handlers.h"
#include "server/service/stream_watch.h"

namespace pliant::server {
namespace {

using grpc::ByteBuffer;

// Slice of bytes that are shared with other viewers, without a copy.
grpc::Slice ShareBytes(std::shared_ptr<const std::string> bytes) {
  auto* owner = new std::shared_ptr<const std::string>(std::move(bytes));
  void* data = const_cast<char*>((*owner)->data());
  return grpc::Slice(
      data, (*owner)->size(),
      [](void* held) { delete static_cast<std::shared_ptr<const std::string>*>(held); }, owner);
}

// Frame stream of one viewer. Sends encoded bytes, so that a frame is encoded once for all viewers.
class SubscribeCall final : public RpcCall, public FrameSink {
 public:
  SubscribeCall(Handlers* handlers, Call call, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)), handlers_(handlers), call_(std::move(call)) {
    watch_ = StreamWatch::Open(handlers, call_.caller,
                               [this](const absl::Status& why) { SendEnd(why); });
    StartRead(&in_);
  }

  void SendFrame(const FrameHead& frame, std::shared_ptr<const std::string> body) override {
    const std::string head = EncodeFrameHead(frame, body->size(), false);
    const grpc::Slice slices[] = {grpc::Slice(head), ShareBytes(std::move(body))};
    std::lock_guard lock(mutex_);
    if (ending_) return;
    writing_ = true;
    StartWrite(ByteBuffer(slices, 2));
  }

  void SendEnd(const absl::Status& why) override { End(why, true); }

 private:
  void OnReadDone(bool ok) override {
    // a client that has closed its side still receives frames, until it cancels the call
    if (!ok && stream_ != nullptr) return;
    if (!ok) return End(absl::OkStatus(), false);
    v1::SubscribeRequest request;
    if (!ParseBuffer(in_, &request)) {
      return End(absl::InvalidArgumentError("the message is not a SubscribeRequest"), false);
    }
    if (request.has_ack() && stream_ != nullptr)
      stream_->Ack(request.ack().frame(), handlers_->timeline().Now());
    if (request.has_subscription()) {
      absl::StatusOr<Subscription> subscription =
          handlers_->Subscribe(call_, request.subscription());
      if (!subscription.ok()) return End(subscription.status(), false);
      if (stream_ != nullptr) {
        stream_->Change(*std::move(subscription));
      } else {
        stream_ = handlers_->MakeStream(this, *std::move(subscription));
        stream_->Open();
      }
    }
    StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      if (finished_) return;
      if (ending_) return Finish();
    }
    if (ok) stream_->Ready();
  }

  void OnCancel() override {
    // a stuck write may take minutes to report: finish without it
    std::lock_guard lock(mutex_);
    if (!ending_) ending_ = absl::CancelledError("the client disconnected");
    notify_ = false;
    Finish();
  }

  void OnDone() override {
    watch_->Close();
    if (stream_ != nullptr) stream_->Close();
  }

  void End(const absl::Status& why, bool notify) {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = why;
    notify_ = notify;
    if (!writing_) Finish();
  }

  // Call with mutex_ locked and ending_ set.
  void Finish() {
    if (std::exchange(finished_, true)) return;
    const grpc::Status status = ToGrpc(*ending_);
    if (!notify_) return RpcCall::Finish(status);
    v1::SubscribeResponse response;
    response.mutable_notice()->set_reason(std::string(ending_->message()));
    response.mutable_notice()->set_final(true);
    StartWriteAndFinish(WriteBuffer(response.SerializeAsString()), status);
  }

  Handlers* const handlers_;
  const Call call_;
  std::shared_ptr<StreamWatch> watch_;
  std::shared_ptr<FrameStream> stream_;
  ByteBuffer in_;

  std::mutex mutex_;
  bool writing_ = false;
  bool finished_ = false;
  bool notify_ = false;
  std::optional<absl::Status> ending_;
};

}  // namespace

void ServeSubscribe(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival) {
  absl::StatusOr<Call> call = AdmitStream(handlers, callers, kSubscribeMethod, *arrival);
  if (!call.ok()) return Refuse(std::move(arrival), call.status());
  new SubscribeCall(handlers, *std::move(call), std::move(arrival));
}

}  // namespace pliant::server
