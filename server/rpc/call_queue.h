#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "server/connections/pacing.h"
#include "server/rpc/rpc_call.h"

namespace grpc {
class ServerBuilder;
class ServerCompletionQueue;
}  // namespace grpc

namespace pliant::server {

// Receives all calls of a gRPC server, and reports the completion of their operations, on one
// thread. If several threads waited for events, gRPC would hand each event of a connection from one
// to another, which costs more than the event itself.
class CallQueue {
 public:
  // Makes the object that serves a call, which deletes itself.
  using Serve = std::function<void(std::unique_ptr<Arrival>)>;

  // Registers itself with the server that is built.
  explicit CallQueue(grpc::ServerBuilder* builder);
  ~CallQueue();

  void Start(Serve serve);  // when the server has started
  // Waits until every call is destroyed; call it when the server has shut down or failed to start.
  // Idempotent.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  // Time for which the thread polls for an event that is expected soon. A processor that halts
  // takes some 50 µs to wake.
  static constexpr std::chrono::microseconds kPolling{100};
  class Next;
  friend class Arrival;
  friend class RpcCall;
  void Enter();
  void Leave();
  void AwaitCall();
  bool Wait(void** tag, bool* ok);
  void Run();

  grpc::AsyncGenericService service_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Serve serve_;
  Pacing pacing_;
  Clock::time_point expected_until_;  // none is expected soon if this has passed
  std::mutex mutex_;
  std::condition_variable left_;
  int calls_ = 0;  // not destroyed yet
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace pliant::server
