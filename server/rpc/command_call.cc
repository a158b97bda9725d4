#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "grpcpp/support/byte_buffer.h"

#include "pliant/v1/control.pb.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/method_calls.h"
#include "server/service/command_feedback.h"
#include "server/service/stream_watch.h"

namespace pliant::server {
namespace {

using grpc::ByteBuffer;

// Refusals are sent one by one; with this many unsent, no more commands are read.
constexpr std::size_t kMaxRefusals = 16;

// Command stream of one client. When the stream ends, the leases used on it end too.
class CommandCall final : public RpcCall {
 public:
  CommandCall(Handlers* handlers, const Call& call, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)) {
    feedback_ = std::make_shared<CommandFeedback>(
        handlers, call, [this](const v1::CommandResponse& response) { SendFeedback(response); });
    feedback_->Open();
    watch_ =
        StreamWatch::Open(handlers, call.caller, [this](const absl::Status& why) { End(why); });
    StartRead(&in_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus());
    v1::CommandRequest request;
    if (!ParseBuffer(in_, &request))
      return End(absl::InvalidArgumentError("the message is not a CommandRequest"));
    std::optional<v1::CommandResponse> refused = feedback_->Submit(request);
    if (!refused) return StartRead(&in_);
    std::lock_guard lock(mutex_);
    refusals_.push_back(*std::move(refused));
    if (!writing_) WriteNext();
    if (refusals_.size() < kMaxRefusals) {
      StartRead(&in_);
    } else {
      read_later_ = true;
    }
  }

  // Fills the feedback slot, which holds the latest response only.
  void SendFeedback(const v1::CommandResponse& response) {
    std::lock_guard lock(mutex_);
    slot_ = response;
    if (!writing_) WriteNext();
  }

  void OnWriteDone(bool ok) override {
    bool ready = false;
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      ready = std::exchange(slot_written_, false);
      if (ending_) {
        Finish();
        return;
      }
      if (!ok) return;
      if (std::exchange(read_later_, false)) StartRead(&in_);
      WriteNext();
    }
    if (ready) feedback_->Ready();
  }

  // Call with mutex_ locked and no write in progress.
  void WriteNext() {
    if (ending_) return;
    v1::CommandResponse next;
    if (!refusals_.empty()) {
      next = std::move(refusals_.front());
      refusals_.pop_front();
    } else if (slot_) {
      next = *std::exchange(slot_, std::nullopt);
      slot_written_ = true;
    } else {
      return;
    }
    writing_ = true;
    StartWrite(WriteBuffer(next.SerializeAsString()));
  }

  void OnCancel() override {
    std::lock_guard lock(mutex_);
    if (!ending_) ending_ = absl::CancelledError("the client disconnected");
    Finish();
  }

  void OnDone() override {
    watch_->Close();
    feedback_->Close();
  }

  void End(const absl::Status& why) {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = why;
    if (!writing_) Finish();
  }

  // Call with mutex_ locked and ending_ set.
  void Finish() {
    if (!std::exchange(finished_, true)) RpcCall::Finish(ToGrpc(*ending_));
  }

  std::shared_ptr<CommandFeedback> feedback_;
  std::shared_ptr<StreamWatch> watch_;
  ByteBuffer in_;

  std::mutex mutex_;
  std::deque<v1::CommandResponse> refusals_;
  std::optional<v1::CommandResponse> slot_;
  bool slot_written_ = false;
  bool read_later_ = false;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> ending_;
};

}  // namespace

void ServeCommand(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival) {
  absl::StatusOr<Call> call = AdmitStream(handlers, callers, kCommandMethod, *arrival);
  if (!call.ok()) return Refuse(std::move(arrival), call.status());
  new CommandCall(handlers, *std::move(call), std::move(arrival));
}

}  // namespace pliant::server
