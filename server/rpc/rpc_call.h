#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"

namespace pliant::server {

class CallQueue;
class RpcCall;

// An operation that gRPC reports when it has ended. Called on the thread of the call queue.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void Complete(bool ok) = 0;
};

// A call as received from gRPC: its headers, and the stream of its messages.
class Arrival {
 public:
  explicit Arrival(CallQueue* queue);
  ~Arrival();

  const grpc::GenericServerContext& context() const { return context_; }

 private:
  friend class CallQueue;
  friend class RpcCall;
  struct Ended final : Completion {
    void Complete(bool ok) override;
    RpcCall* call = nullptr;
  };

  CallQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Ended ended_;
};

// One call of any method, whose messages are bytes. Its functions On… are called on the thread of
// the call queue, one at a time; the others may be called from any thread. A call must be finished
// once; it is destroyed after OnDone.
class RpcCall {
 public:
  virtual ~RpcCall() = default;

 protected:
  explicit RpcCall(std::unique_ptr<Arrival> arrival) : arrival_(std::move(arrival)) {
    arrival_->ended_.call = this;
  }

  const grpc::GenericServerContext& context() const { return arrival_->context_; }

  // Report, on the thread of the call queue, that the client waits for a reply, and that it will
  // probably send a message soon.
  void ReportRequest();
  void ExpectMessage();

  // Only one operation of each kind may be in progress. The buffer to read into must outlive it.
  void StartRead(grpc::ByteBuffer* message);
  void StartWrite(const grpc::ByteBuffer& message);
  void Finish(const grpc::Status& status);
  void StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status);

 private:
  friend class Arrival;
  using Event = void (RpcCall::*)(bool ok);
  struct Operation final : Completion {
    Operation(RpcCall* owner, Event event) : call(owner), report(event) {}
    void Complete(bool ok) override {
      (call->*report)(ok);
      call->Release();
    }
    RpcCall* const call;
    const Event report;
  };

  // `ok` is false when the client has no more messages, or is gone.
  virtual void OnReadDone(bool /*ok*/) {}
  virtual void OnWriteDone(bool /*ok*/) {}
  virtual void OnCancel() {}  // the client has cancelled the call or is gone
  virtual void OnDone() {}    // no call follows

  void Finished(bool /*ok*/) {}
  void Release();

  const std::unique_ptr<Arrival> arrival_;
  // Operations in progress, initially the end of the call and its finish.
  std::atomic<int> awaited_{2};
  Operation read_{this, &RpcCall::OnReadDone};
  Operation write_{this, &RpcCall::OnWriteDone};
  Operation finish_{this, &RpcCall::Finished};
};

}  // namespace pliant::server
