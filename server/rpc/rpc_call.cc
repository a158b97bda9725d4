#include "server/rpc/rpc_call.h"

#include "server/rpc/call_queue.h"

namespace pliant::server {
namespace {

// gRPC returns this pointer when the operation completes.
void* TagOf(Completion* completion) {
  return completion;
}

}  // namespace

Arrival::Arrival(CallQueue* queue) : queue_(queue) {
  queue_->Enter();
  context_.AsyncNotifyWhenDone(TagOf(&ended_));
}
Arrival::~Arrival() {
  queue_->Leave();
}

void Arrival::Ended::Complete(bool /*ok*/) {
  if (call->arrival_->context_.IsCancelled()) call->OnCancel();
  call->Release();
}

void RpcCall::ReportRequest() {
  arrival_->queue_->pacing_.OnRequest();
}

void RpcCall::ExpectMessage() {
  arrival_->queue_->expected_until_ = CallQueue::Clock::now() + CallQueue::kPolling;
}

void RpcCall::StartRead(grpc::ByteBuffer* message) {
  awaited_.fetch_add(1);
  arrival_->stream_.Read(message, TagOf(&read_));
}

void RpcCall::StartWrite(const grpc::ByteBuffer& message) {
  awaited_.fetch_add(1);
  arrival_->stream_.Write(message, TagOf(&write_));
}

void RpcCall::Finish(const grpc::Status& status) {
  arrival_->stream_.Finish(status, TagOf(&finish_));
}

void RpcCall::StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status) {
  arrival_->stream_.WriteAndFinish(message, grpc::WriteOptions(), status, TagOf(&finish_));
}

void RpcCall::Release() {
  if (awaited_.fetch_sub(1) != 1) return;
  OnDone();
  delete this;
}

}  // namespace pliant::server
