#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/rpc/rpc_call.h"

namespace pliant::server {

inline constexpr char kReflect[] = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// The reflection service of gRPC: lists `services`, and describes every linked .proto file to
// clients that do not have it. `services` outlive the call.
void ServeReflection(const std::vector<std::string>* services, std::unique_ptr<Arrival> arrival);

}  // namespace pliant::server
