#pragma once

#include <memory>
#include <string>

#include "server/rpc/callers.h"
#include "server/rpc/rpc_call.h"
#include "server/service/methods.h"

namespace pliant::server {

// Each serves one call, and deletes itself. `handlers` and `callers` outlive it.
void ServeUnary(Handlers* handlers, Callers* callers, std::string_view method,
                std::unique_ptr<Arrival> arrival);
void ServeSubscribe(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival);
void ServeCommand(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival);
void ServeLockstep(Handlers* handlers, Callers* callers, std::unique_ptr<Arrival> arrival);

// Ends a call that is not served.
void Refuse(std::unique_ptr<Arrival> arrival, const absl::Status& why);

// Returns the call of a stream that its caller may open, or the reason for refusing it.
absl::StatusOr<Call> AdmitStream(Handlers* handlers, Callers* callers, std::string_view method,
                                 const Arrival& arrival);

std::string ReadBuffer(const grpc::ByteBuffer& buffer);
grpc::ByteBuffer WriteBuffer(const std::string& bytes);

// Reads a message; false when the buffer is not of this type.
template <typename Message>
bool ParseBuffer(const grpc::ByteBuffer& buffer, Message* message) {
  return message->ParseFromString(ReadBuffer(buffer));
}

}  // namespace pliant::server
