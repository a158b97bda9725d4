#include "server/rpc/method_service.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/slice.h"

#include "physics/spatial/demand.h"
#include "server/rpc/grpc_status.h"

namespace pliant::server {
namespace {

using grpc::ByteBuffer;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// A call that replies once, and that its client may cancel while it runs.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(Handlers* handlers, Callers* callers, const std::string& method,
            const grpc::CallbackServerContext& context, const ByteBuffer& request,
            ByteBuffer* response) {
    Dispatch(*handlers, callers->MakeCall(context, cancelled_), method, ReadBuffer(request),
             [this, response](absl::StatusOr<std::string> reply) {
               if (!reply.ok()) return Finish(ToGrpc(reply.status()));
               const grpc::Slice slice(*reply);
               *response = ByteBuffer(&slice, 1);
               Finish(grpc::Status::OK);
             });
  }

 private:
  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }
  // OnDone and OnCancel are as short as those of gRPC's own reactors, so the thread that finds out
  // runs them. Otherwise another thread would be woken in every call.
  bool InternalInlineable() override { return true; }

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

// A stream whose client may not open it.
class RefusedStream final : public RawStream {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpc(why)); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace

std::string ReadBuffer(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

MethodService::MethodService(Handlers* handlers, Callers* callers, const std::string& service)
    : handlers_(handlers), callers_(callers) {
  const google::protobuf::ServiceDescriptor* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  PLIANT_DEMAND(descriptor != nullptr);
  for (int i = 0; i < descriptor->method_count(); ++i) {
    const std::string method = absl::StrCat(service, "/", descriptor->method(i)->name());
    paths_.push_back("/" + method);
    if (method == kSubscribeMethod) {
      AddStream(method, MakeSubscribeCall);
    } else if (method == kCommandMethod) {
      AddStream(method, MakeCommandCall);
    } else {
      AddUnary(method);
    }
  }
}

// These are the calls that generated services make for raw methods.
void MethodService::AddUnary(const std::string& method) {
  const int index = static_cast<int>(paths_.size()) - 1;
  AddMethod(new RpcServiceMethod(paths_.back().c_str(), RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodRawCallback(
      index, new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                 [this, method](grpc::CallbackServerContext* context, const ByteBuffer* request,
                                ByteBuffer* response) -> grpc::ServerUnaryReactor* {
                   return new UnaryCall(handlers_, callers_, method, *context, *request, response);
                 }));
}

void MethodService::AddStream(const std::string& method, MakeStreamCall make) {
  const int index = static_cast<int>(paths_.size()) - 1;
  AddMethod(new RpcServiceMethod(paths_.back().c_str(), RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(index, new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
                                   [this, method, make = std::move(make)](
                                       grpc::CallbackServerContext* context) -> RawStream* {
                                     const Call call = callers_->MakeCall(*context, nullptr);
                                     const absl::StatusOr<Call> admitted =
                                         Admit(*handlers_, call, method);
                                     if (!admitted.ok())
                                       return new RefusedStream(admitted.status());
                                     return make(handlers_, call);
                                   }));
}

}  // namespace pliant::server
