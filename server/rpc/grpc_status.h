#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"

#include "server/rpc/errors.h"
#include "server/rpc/handlers.h"

namespace pliant::server {

inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status message = WriteStatus(status);
  const std::string details = message.details().empty() ? "" : message.SerializeAsString();
  return {static_cast<grpc::StatusCode>(status.code()), message.message(), details};
}

// A reply that fills `response` and finishes the call.
template <typename T>
Reply<T> FinishWith(grpc::ServerUnaryReactor* reactor, T* response) {
  return [reactor, response](absl::StatusOr<T> result) {
    if (!result.ok()) return reactor->Finish(ToGrpc(result.status()));
    *response = *std::move(result);
    reactor->Finish(grpc::Status::OK);
  };
}

}  // namespace pliant::server
