#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/serve/serve.h"

namespace pliant::physics {
struct Model;
}

namespace pliant::server {

class Handlers;

// A whole server in this process: worlds, gRPC and HTTP.
class Server {
 public:
  // `scene` becomes the world `default`, in real time; null: none. UNAVAILABLE, with the remedy,
  // when a port is taken or the data folder cannot be written.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServeOptions& options,
                                                       std::shared_ptr<const physics::Model> scene);
  ~Server();

  std::string grpc_address() const;  // 127.0.0.1:N
  std::string http_address() const;  // http://127.0.0.1:N, or https://
  int grpc_port() const;
  int http_port() const;
  bool has_viewer() const;
  Handlers& handlers();

  // Reads tokens, keys, certificates and quotas again. A file with errors is logged, and its
  // previous content stays in use. Quotas hold for worlds that are created and files that are
  // uploaded from now on.
  void Reload();

  // Health reports NOT_SERVING, new requests are refused, streams are notified and ended, and calls
  // still open after 5 s are cancelled.
  void Shutdown();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pliant::server
