#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

#include "server/service/errors.h"

namespace pliant::server {

inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status message = WriteStatus(status);
  const std::string details = message.details().empty() ? "" : message.SerializeAsString();
  return {static_cast<grpc::StatusCode>(status.code()), message.message(), details};
}

}  // namespace pliant::server
