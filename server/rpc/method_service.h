#pragma once

#include <deque>
#include <functional>
#include <string>

#include "grpcpp/impl/service_type.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"

#include "server/rpc/callers.h"
#include "server/service/methods.h"

namespace pliant::server {

using RawStream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Serves one stream of a caller; deletes itself when the stream is done.
using MakeStreamCall = std::function<RawStream*(Handlers*, const Call&)>;
RawStream* MakeSubscribeCall(Handlers* handlers, const Call& call);
RawStream* MakeCommandCall(Handlers* handlers, const Call& call);

// One service of proto/, with its methods from the table. Messages are passed on in bytes, so that
// the service needs no generated code.
class MethodService final : public grpc::Service {
 public:
  // `service` is a full name such as "pliant.v1.WorldService". `handlers` and `callers` outlive the
  // service.
  MethodService(Handlers* handlers, Callers* callers, const std::string& service);

 private:
  void AddUnary(const std::string& method);
  void AddStream(const std::string& method, MakeStreamCall make);

  Handlers* const handlers_;
  Callers* const callers_;
  std::deque<std::string> paths_;  // of the methods; gRPC keeps pointers to them
};

std::string ReadBuffer(const grpc::ByteBuffer& buffer);

// Reads a message; false when the buffer is not of this type.
template <typename Message>
bool ParseBuffer(const grpc::ByteBuffer& buffer, Message* message) {
  return message->ParseFromString(ReadBuffer(buffer));
}

}  // namespace pliant::server
