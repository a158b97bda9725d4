#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/support/byte_buffer.h"

#include "server/rpc/grpc_status.h"
#include "server/rpc/method_calls.h"
#include "server/service/stream_watch.h"

namespace pliant::server {
namespace {

using grpc::ByteBuffer;

// Stream of requests that are answered one after the other, each before the next one is read. The
// first one that is refused ends it.
class LockstepCall final : public RpcCall {
 public:
  LockstepCall(Handlers* handlers, Callers* callers, Call call, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)),
        handlers_(handlers),
        callers_(callers),
        call_(std::move(call)) {
    call_.limits.cancelled = cancelled_;
    watch_ =
        StreamWatch::Open(handlers, call_.caller, [this](const absl::Status& why) { End(why); });
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus());
    {
      std::lock_guard lock(mutex_);
      if (ending_) return;
      is_answering_ = true;
    }
    ReportRequest();
    // several calls at the same time are served by other threads
    call_.lends_thread = callers_->EnterUnary() == 1;
    Dispatch(*handlers_, call_, kLockstepMethod, ReadBuffer(request_),
             [this](const absl::StatusOr<std::string>& reply) { Reply(reply); });
  }

  void Reply(const absl::StatusOr<std::string>& reply) {
    callers_->LeaveUnary();
    std::lock_guard lock(mutex_);
    is_answering_ = false;
    if (!ending_ && !reply.ok()) ending_ = reply.status();
    if (ending_) return Finish();
    is_writing_ = true;
    StartWrite(WriteBuffer(*reply));
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (ending_) return Finish();
    if (!ok) return;  // the client is gone, which OnCancel reports
    StartRead(&request_);
    ExpectMessage();
  }

  void OnCancel() override {
    cancelled_->store(true);
    std::lock_guard lock(mutex_);
    if (!ending_) ending_ = absl::CancelledError("the client disconnected");
    // a stuck write may take minutes to report: finish without it
    if (!is_answering_) Finish();
  }

  void OnDone() override { watch_->Close(); }

  void End(const absl::Status& why) {
    std::lock_guard lock(mutex_);
    if (!ending_) ending_ = why;
    if (!is_answering_ && !is_writing_) Finish();
  }

  // Call with mutex_ locked and ending_ set.
  void Finish() {
    if (!std::exchange(is_finished_, true)) RpcCall::Finish(ToGrpc(*ending_));
  }

  Handlers* const handlers_;
  Callers* const callers_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Call call_;
  std::shared_ptr<StreamWatch> watch_;
  ByteBuffer request_;

  std::mutex mutex_;
  bool is_answering_ = false, is_writing_ = false, is_finished_ = false;
  std::optional<absl::Status> ending_;
};

}  // namespace

void ServeLockstep(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival) {
  absl::StatusOr<Call> call = AdmitStream(handlers, callers, kLockstepMethod, *arrival);
  if (!call.ok()) return Refuse(std::move(arrival), call.status());
  new LockstepCall(handlers, callers, *std::move(call), std::move(arrival));
}

}  // namespace pliant::server
