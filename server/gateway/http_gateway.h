#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace pliant::server {

class Handlers;

// HTTP and WebSocket on one port, on one thread: the viewer's files, /ws, /healthz and /metrics.
// Nothing that it does waits for anything but its sockets.
class HttpGateway {
 public:
  struct Options {
    std::string bind = "127.0.0.1";
    int port = 0;  // 0: any free one
    std::string viewer_folder;
    std::vector<std::string>
        allowed_origins;  // of pages that are not ours, e.g. "http://localhost:5173"
    std::string version;
  };

  // UNAVAILABLE when the port is taken, INVALID_ARGUMENT when `bind` is no address. `handlers`
  // outlives the gateway.
  static absl::StatusOr<std::unique_ptr<HttpGateway>> Start(Handlers* handlers,
                                                            const Options& options);
  ~HttpGateway();

  int port() const;
  bool has_viewer() const;

  // Takes no more connections and says goodbye to those that are open. Does not block.
  void BeginShutdown();
  // Cuts what is still open, and joins.
  void Stop();

 private:
  struct Listener;
  explicit HttpGateway(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace pliant::server
