#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/connections/peers.h"

namespace pliant::server {

class Certificates;
class Handlers;

// HTTP and WebSocket on one port, with TLS or without, on one thread: the viewer's files, /ws,
// /healthz and /metrics. It never blocks on anything but its sockets.
class HttpGateway {
 public:
  struct Options {
    std::string bind = "127.0.0.1";
    int port = 0;  // 0: any free one
    std::string viewer_folder;
    std::vector<std::string> allowed_origins;  // of other pages, e.g. "http://localhost:5173"
    std::vector<std::string> allowed_hosts;    // names of this server, e.g. "lab.example"
    std::string version;
    std::shared_ptr<const Certificates> certificates;  // null: no TLS
    int max_connections = 1024;
    int max_connections_per_peer = 256;
    // Counters of this port, which the gateway updates, and of gRPC, for the metrics.
    std::shared_ptr<ConnectionCounters> counters = std::make_shared<ConnectionCounters>();
    std::shared_ptr<const ConnectionCounters> grpc_counters;
    std::chrono::seconds idle_timeout{30};  // of a WebSocket whose client answers nothing
  };

  // UNAVAILABLE when the port is taken, INVALID_ARGUMENT when `bind` is not an address. `handlers`
  // outlives the gateway.
  static absl::StatusOr<std::unique_ptr<HttpGateway>> Start(Handlers* handlers,
                                                            const Options& options);
  ~HttpGateway();

  int port() const;
  bool has_viewer() const;

  // Accepts no more connections and closes WebSockets with a close frame. Does not block.
  void BeginShutdown();
  // Closes remaining connections and joins the thread.
  void Stop();

 private:
  struct Listener;
  explicit HttpGateway(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace pliant::server
