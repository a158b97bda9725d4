#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/sync_stream.h"

#include "pliant/client.h"

namespace pliant {

// The channel to a server, its credentials, and the calls under way on it. Thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // INVALID_ARGUMENT for an address without a port or a file that cannot be read.
  static absl::StatusOr<std::shared_ptr<Connection>> Make(const ClientOptions& options);

  // A call or a stream under way. CancelAll cancels it while this object lives. It must not outlive
  // the connection.
  class Context {
   public:
    explicit Context(Connection* connection);
    ~Context();
    Context(const Context&) = delete;
    grpc::ClientContext& operator*() { return context_; }
    grpc::ClientContext* operator->() { return &context_; }
    grpc::ClientContext* get() { return &context_; }

   private:
    Connection* const connection_;
    grpc::ClientContext context_;
  };

  using ByteStream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  // Calls a method. `done` is called on a thread of gRPC, which it must not block. `request` is
  // read before this returns; `response` must live until `done` is called. A zero timeout is none.
  void Start(const char* method, const google::protobuf::MessageLite& request,
             google::protobuf::MessageLite* response, std::chrono::milliseconds timeout,
             std::function<void(const absl::Status&)> done);
  absl::Status Call(const char* method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* response, std::chrono::milliseconds timeout);

  // Opens a stream of serialised messages.
  std::unique_ptr<ByteStream> Open(const char* method, Context* context);

  // Converts an error with its details, and adds advice if no server answers.
  absl::Status Translate(const grpc::Status& status) const;

  void CancelAll();
  // Waits until all calls of Start have ended; returns at once in the callback of one.
  void WaitForCallbacks();
  const ClientOptions& options() const { return options_; }
  std::string name() const;  // of this client

 private:
  explicit Connection(const ClientOptions& options) : options_(options) {}
  std::string Token();
  void EndCallback(std::shared_ptr<Connection>* self);

  const ClientOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<
      grpc::TemplatedGenericStub<google::protobuf::MessageLite, google::protobuf::MessageLite>>
      stub_;
  std::mutex mutex_;
  std::set<grpc::ClientContext*> under_way_;
  int callbacks_ = 0;  // that have not ended
  std::condition_variable callback_ended_;
  std::string token_;               // last read from the file
  std::int64_t token_changed_ = 0;  // its modification time then [ns]
};

// Checks that a client of one version can talk to a server of another: major versions must be
// equal, and before 1.0 minor versions too. Otherwise FAILED_PRECONDITION, which says which one is
// older. Versions that cannot be parsed are accepted.
absl::Status CheckVersions(std::string_view client, std::string_view server);

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message);
// Copies into `bytes` and reuses its memory.
void CopyBytes(const grpc::ByteBuffer& buffer, std::string* bytes);

}  // namespace pliant
