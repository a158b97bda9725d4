#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/command_stream.h"
#include "pliant/description.h"
#include "pliant/errors.h"
#include "pliant/files.h"
#include "pliant/frame.h"
#include "pliant/lease.h"
#include "pliant/lockstep.h"
#include "pliant/methods.h"
#include "pliant/subscription.h"
#include "pliant/world.h"

namespace pliant {

class Connection;

struct ClientOptions {
  std::string address = "127.0.0.1:50051";  // HOST:PORT of gRPC
  bool tls = false;                         // implied by `ca_file` and `certificate_file`
  // Authorities (PEM) of the server's certificate; empty: the system's.
  std::string ca_file{};
  std::string certificate_file{};  // of this client (PEM), for servers with --client-ca
  std::string key_file{};
  std::string token_file{};  // its first line is the token; read again when it changes
  std::string token{};       // in place of a file
  std::string name{};        // of this client, as others see it on leases; empty: user@host
  std::chrono::milliseconds timeout{10'000};  // of quick calls (methods.h)
  std::chrono::milliseconds long_timeout{0};  // of long calls; zero: none
  // Longest wait between attempts to reconnect. Waits grow from a tenth of it.
  std::chrono::milliseconds max_backoff{500};
  // Connect asks the server for its version, and fails if none answers. If false, Connect does not
  // use the network.
  bool checks_server = true;
};

struct CallOptions {
  // Zero: that of ClientOptions for quick or long calls.
  std::chrono::milliseconds timeout{0};
};

// A connection to one server, and its API.
//
// All methods of Client, World, Subscription, Lease and CommandStream are thread-safe. A Client
// lives as long as any object that was made from it. A connection that breaks is re-established:
// calls under way fail with UNAVAILABLE and are not repeated, subscriptions continue, leases and
// command streams end.
//
// Errors are those of the server: code and message, and its details as payloads (errors.h).
// UNAVAILABLE also advises what to check. Names of worlds may be given with or without `worlds/`.
class Client : public std::enable_shared_from_this<Client> {
 public:
  // INVALID_ARGUMENT for an address without a port or a file that cannot be read; UNAVAILABLE when
  // no gRPC server answers; FAILED_PRECONDITION when its version does not fit.
  static absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options = {});
  ~Client();  // cancels calls under way, and waits for their callbacks unless it is called in one
  Client(const Client&) = delete;

  // Calls the method of a request: client->Call(v1::ListWorldsRequest()). Do not call it in
  // callbacks, which it would block.
  template <typename Request>
  absl::StatusOr<typename MethodOf<Request>::Response> Call(const Request& request,
                                                            const CallOptions& options = {}) {
    typename MethodOf<Request>::Response response;
    const absl::Status status = CallBlocking(MethodOf<Request>::kName, MethodOf<Request>::kDuration,
                                             request, &response, options);
    if (!status.ok()) return status;
    return response;
  }

  // The same without waiting. `done` is called once, on a thread of the library, which it must not
  // block.
  template <typename Request>
  void CallAsync(const Request& request,
                 std::function<void(absl::StatusOr<typename MethodOf<Request>::Response>)> done,
                 const CallOptions& options = {}) {
    using Response = typename MethodOf<Request>::Response;
    auto response = std::make_shared<Response>();
    Start(MethodOf<Request>::kName, MethodOf<Request>::kDuration, request, response.get(), options,
          [response, done = std::move(done)](const absl::Status& status) {
            if (status.ok()) {
              done(std::move(*response));
            } else {
              done(status);
            }
          });
  }

  // The same with a future.
  template <typename Request>
  std::future<absl::StatusOr<typename MethodOf<Request>::Response>> CallAsync(
      const Request& request, const CallOptions& options = {}) {
    using Result = absl::StatusOr<typename MethodOf<Request>::Response>;
    auto promise = std::make_shared<std::promise<Result>>();
    CallAsync(
        request, [promise](Result result) { promise->set_value(std::move(result)); }, options);
    return promise->get_future();
  }

  // Ends all calls and streams under way with CANCELLED. Later ones are not affected.
  void CancelAll();

  // Version, build and features of the server. FAILED_PRECONDITION when its version does not fit
  // this client.
  absl::StatusOr<v1::ServerInfo> CheckServer();
  // State of the server as named in grpc.health.v1: SERVING, NOT_SERVING.
  absl::StatusOr<std::string> CheckHealth();

  // Creates a world from a scene. `request` has everything except `files`, which are found and
  // uploaded if the server lacks them. `folder` is that of the scene, or of the imported files;
  // empty if they name no files.
  absl::StatusOr<World> CreateWorld(v1::CreateWorldRequest request, const std::string& folder = "",
                                    const UploadProgress& progress = nullptr);
  // The same from a scene file.
  absl::StatusOr<World> CreateWorldFromFile(const std::string& scene_file,
                                            v1::CreateWorldRequest request = {},
                                            const UploadProgress& progress = nullptr);
  // A world that exists. Otherwise NOT_FOUND, which lists the worlds there are, most similar first.
  absl::StatusOr<World> FindWorld(std::string_view name);
  // The same without asking the server.
  World GetWorld(std::string_view name);
  // All pages of the list.
  absl::StatusOr<std::vector<v1::World>> ListWorlds(v1::ListWorldsRequest request = {});

  // Steps many worlds at the same time, in one call. For many steps, a Lockstep takes less time.
  absl::StatusOr<v1::StepWorldsResponse> StepWorlds(const v1::StepWorldsRequest& request);

  // Sends bytes to the server in chunks unless it has them, and returns their SHA-256.
  absl::StatusOr<std::string> Upload(std::string_view bytes);
  // Writes the file of a recording. An interrupted download leaves FILE.part, which the next one
  // resumes if it is the beginning of the recording. Returns the size [B].
  absl::StatusOr<std::int64_t> FetchRecording(const std::string& recording,
                                              const std::string& file);

  const ClientOptions& options() const { return options_; }

  // For the library's own parts.
  const std::shared_ptr<Connection>& connection() const { return connection_; }

 private:
  Client(ClientOptions options, std::shared_ptr<Connection> connection);
  std::chrono::milliseconds TimeoutOf(Duration duration, const CallOptions& options) const;
  absl::Status CallBlocking(const char* method, Duration duration,
                            const google::protobuf::MessageLite& request,
                            google::protobuf::MessageLite* response, const CallOptions& options);
  void Start(const char* method, Duration duration, const google::protobuf::MessageLite& request,
             google::protobuf::MessageLite* response, const CallOptions& options,
             std::function<void(const absl::Status&)> done);

  const ClientOptions options_;
  const std::shared_ptr<Connection> connection_;
};

// Full names: worlds/NAME, recordings/NAME.
std::string WorldName(std::string_view name);
std::string RecordingName(std::string_view name);

}  // namespace pliant
