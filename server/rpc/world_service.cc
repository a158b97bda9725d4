#include <atomic>
#include <memory>

#include "pliant/v1/world.grpc.pb.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/services.h"

namespace pliant::server {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using google::protobuf::Empty;

// A call that its client may cancel while it runs.
class CancellableCall : public Reactor {
 public:
  explicit CancellableCall(Context* context) {
    // convert the deadline from the wall clock to the steady clock
    const auto left = context->deadline() - std::chrono::system_clock::now();
    if (left < std::chrono::hours(24 * 365))
      limits_.deadline = std::chrono::steady_clock::now() + left;
    limits_.cancelled = cancelled_;
  }
  const CallLimits& limits() const { return limits_; }

 private:
  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  CallLimits limits_;
};

class WorldService final : public v1::WorldService::CallbackService {
 public:
  explicit WorldService(Handlers* handlers) : handlers_(handlers) {}

 private:
  Reactor* CreateWorld(Context* context, const v1::CreateWorldRequest* request,
                       v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->CreateWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* GetWorld(Context* context, const v1::GetWorldRequest* request,
                    v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->GetWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* ListWorlds(Context* context, const v1::ListWorldsRequest* request,
                      v1::ListWorldsResponse* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->ListWorlds(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* DeleteWorld(Context* context, const v1::DeleteWorldRequest* request,
                       Empty* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->DeleteWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* DescribeWorld(Context* context, const v1::DescribeWorldRequest* request,
                         v1::WorldDescription* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->DescribeWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* StepWorld(Context* context, const v1::StepWorldRequest* request,
                     v1::StepWorldResponse* response) override {
    auto* call = new CancellableCall(context);
    handlers_->StepWorld(*request, call->limits(), FinishWith(call, response));
    return call;
  }
  Reactor* SetClock(Context* context, const v1::SetClockRequest* request,
                    v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->SetClock(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* ResetWorld(Context* context, const v1::ResetWorldRequest* request,
                      v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->ResetWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* CheckpointWorld(Context* context, const v1::CheckpointWorldRequest* request,
                           v1::CheckpointWorldResponse* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->CheckpointWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* RestoreWorld(Context* context, const v1::RestoreWorldRequest* request,
                        v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->RestoreWorld(*request, FinishWith(reactor, response));
    return reactor;
  }
  Reactor* ForkWorld(Context* context, const v1::ForkWorldRequest* request,
                     v1::World* response) override {
    Reactor* reactor = context->DefaultReactor();
    handlers_->ForkWorld(*request, FinishWith(reactor, response));
    return reactor;
  }

  Handlers* const handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorldService(Handlers* handlers) {
  return std::make_unique<WorldService>(handlers);
}

}  // namespace pliant::server
