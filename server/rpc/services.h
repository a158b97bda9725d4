#pragma once

#include <memory>

namespace grpc {
class Service;
}

namespace pliant::server {

class Handlers;

// The gRPC services over `handlers`, which outlives them.
std::unique_ptr<grpc::Service> MakeWorldService(Handlers* handlers);
std::unique_ptr<grpc::Service> MakeStreamService(Handlers* handlers);
std::unique_ptr<grpc::Service> MakeControlService(Handlers* handlers);

}  // namespace pliant::server
