#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "pliant/v1/control.grpc.pb.h"
#include "server/rpc/command_feedback.h"
#include "server/rpc/drain_watch.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/services.h"

namespace pliant::server {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using google::protobuf::Empty;

// Refusals are sent one by one; with this many unsent, no more commands are read.
constexpr std::size_t kMaxRefusals = 16;
constexpr std::size_t kMaxLeases = 64;

// Command stream of one client. When the stream ends, the leases used on it end too.
class CommandCall final : public grpc::ServerBidiReactor<v1::CommandRequest, v1::CommandResponse> {
 public:
  explicit CommandCall(Handlers* handlers) : handlers_(handlers) {
    feedback_ = std::make_shared<CommandFeedback>(
        handlers, [this](const v1::CommandResponse& response) { Tell(response); });
    feedback_->Open();
    watch_ = DrainWatch::Open(
        handlers, [this] { End(absl::UnavailableError("the server is shutting down")); });
    StartRead(&in_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus());
    v1::CommandResponse response = handlers_->Command(in_);
    if (response.refused().empty()) {
      if (leases_.size() >= kMaxLeases)
        leases_.clear();  // those no longer in use lapse by themselves
      leases_[in_.lease_id()] = in_.world();
      feedback_->Follow(in_, response);
      return StartRead(&in_);
    }
    std::lock_guard lock(mutex_);
    refusals_.push_back(std::move(response));
    if (!writing_) WriteNext();
    if (refusals_.size() < kMaxRefusals) {
      StartRead(&in_);
    } else {
      read_later_ = true;
    }
  }

  // Fills the feedback slot, which holds the latest response only.
  void Tell(const v1::CommandResponse& response) {
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
    if (!refusals_.empty()) {
      out_ = std::move(refusals_.front());
      refusals_.pop_front();
    } else if (slot_) {
      out_ = *std::exchange(slot_, std::nullopt);
      slot_written_ = true;
    } else {
      return;
    }
    writing_ = true;
    StartWrite(&out_);
  }

  void OnCancel() override {
    std::lock_guard lock(mutex_);
    if (!ending_) ending_ = absl::CancelledError("the client disconnected");
    Finish();
  }

  void OnDone() override {
    watch_->Close();
    feedback_->Close();
    for (const auto& [lease_id, world] : leases_) {
      v1::ReleaseLeaseRequest request;
      request.set_world(world);
      request.set_lease_id(lease_id);
      handlers_->ReleaseLease(request, [](const absl::StatusOr<Empty>&) {});
    }
    delete this;
  }

  void End(const absl::Status& why) {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = why;
    if (!writing_) Finish();
  }

  // Call with mutex_ locked and ending_ set.
  void Finish() {
    if (!std::exchange(finished_, true)) ServerBidiReactor::Finish(ToGrpc(*ending_));
  }

  Handlers* const handlers_;
  std::shared_ptr<CommandFeedback> feedback_;
  std::shared_ptr<DrainWatch> watch_;
  v1::CommandRequest in_;
  std::map<std::string, std::string> leases_;  // world by lease id

  std::mutex mutex_;
  v1::CommandResponse out_;
  std::deque<v1::CommandResponse> refusals_;
  std::optional<v1::CommandResponse> slot_;
  bool slot_written_ = false;
  bool read_later_ = false;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> ending_;
};

class ControlService final : public v1::ControlService::CallbackService {
 public:
  explicit ControlService(Handlers* handlers) : handlers_(handlers) {}

 private:
  Reactor* AcquireLease(Context* context, const v1::AcquireLeaseRequest* request,
                        v1::Lease* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->AcquireLease(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* ReleaseLease(Context* context, const v1::ReleaseLeaseRequest* request,
                        Empty* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->ReleaseLease(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* StopWorld(Context* context, const v1::StopWorldRequest* request,
                     Empty* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->StopWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* ResumeWorld(Context* context, const v1::ResumeWorldRequest* request,
                       Empty* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->ResumeWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  grpc::ServerBidiReactor<v1::CommandRequest, v1::CommandResponse>* Command(Context*) override {
    return new CommandCall(handlers_);
  }

  Handlers* const handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeControlService(Handlers* handlers) {
  return std::make_unique<ControlService>(handlers);
}

}  // namespace pliant::server
