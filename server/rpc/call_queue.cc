#include "server/rpc/call_queue.h"

#include <pthread.h>
#include <utility>

#include "grpcpp/server_builder.h"

namespace pliant::server {

// The place for the next call.
class CallQueue::Next final : public Completion {
 public:
  explicit Next(CallQueue* queue) : queue_(queue), arrival_(std::make_unique<Arrival>(queue)) {}
  void Await() {
    grpc::ServerCompletionQueue* events = queue_->queue_.get();
    queue_->service_.RequestCall(&arrival_->context_, &arrival_->stream_, events, events,
                                 static_cast<Completion*>(this));
  }
  void Complete(bool ok) override {
    const std::unique_ptr<Next> self(this);
    if (!ok) return;  // the server shuts down
    queue_->pacing_.OnRequest();
    queue_->AwaitCall();
    queue_->serve_(std::move(arrival_));
  }

 private:
  CallQueue* const queue_;
  std::unique_ptr<Arrival> arrival_;
};

CallQueue::CallQueue(grpc::ServerBuilder* builder) : queue_(builder->AddCompletionQueue()) {
  builder->RegisterAsyncGenericService(&service_);
}

CallQueue::~CallQueue() {
  Stop();
}

void CallQueue::Start(Serve serve) {
  serve_ = std::move(serve);
  AwaitCall();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "grpc");
    Run();
  });
}

void CallQueue::Stop() {
  if (std::exchange(stopped_, true)) return;
  {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return calls_ == 0; });
  }
  queue_->Shutdown();
  if (thread_.joinable()) return thread_.join();
  Run();  // handles the operations that have failed
}

void CallQueue::Enter() {
  std::lock_guard lock(mutex_);
  ++calls_;
}

void CallQueue::Leave() {
  std::lock_guard lock(mutex_);
  if (--calls_ == 0) left_.notify_all();
}

void CallQueue::AwaitCall() {
  (new Next(this))->Await();
}

// Waits for an event, at first without halting if one is expected soon. False when there will be
// none.
bool CallQueue::Wait(void** tag, bool* ok) {
  while (Clock::now() < expected_until_) {
    switch (queue_->AsyncNext(tag, ok, gpr_time_0(GPR_CLOCK_MONOTONIC))) {
      case grpc::CompletionQueue::GOT_EVENT:
        return true;
      case grpc::CompletionQueue::SHUTDOWN:
        return false;
      case grpc::CompletionQueue::TIMEOUT:
        std::this_thread::yield();
    }
  }
  return queue_->Next(tag, ok);
}

void CallQueue::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (Wait(&tag, &ok)) {
    static_cast<Completion*>(tag)->Complete(ok);
    if (!pacing_.MayRest()) continue;
    const gpr_timespec at_once = gpr_time_0(GPR_CLOCK_MONOTONIC);
    while (queue_->AsyncNext(&tag, &ok, at_once) == grpc::CompletionQueue::GOT_EVENT)
      static_cast<Completion*>(tag)->Complete(ok);
    Pacing::Rest();
  }
}

}  // namespace pliant::server
