#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pliant/v1/control.pb.h"
#include "server/host/world_host.h"
#include "server/service/handlers.h"
#include "server/stream/task_pool.h"

namespace pliant::server {

// The commands of one connection, and the feedback on them: for each of its leases, the last
// command that a step applied, and the contact force on the target. Feedback is conflated: only the
// latest is sent, once the previous one is written. It is sent immediately after the step that
// applies a command, and until the next command at most 100 times a second for each lease.
class CommandFeedback : public TaskPool::Task,
                        public PublicationListener,
                        public std::enable_shared_from_this<CommandFeedback> {
 public:
  static constexpr std::size_t kMaxLeases = 64;

  // `send` is called on a thread of the pool and must not block. Call Ready when it can take
  // another response.
  CommandFeedback(Handlers* handlers, Call call,
                  std::function<void(const v1::CommandResponse&)> send);

  void Open();

  // Submits a command. Returns the response to a refused one; an accepted one is answered through
  // `send`.
  std::optional<v1::CommandResponse> Submit(const v1::CommandRequest& command);
  void Ready();

  // Releases the leases that were used, so that motion stops when the client that commanded it
  // leaves. After it returns, `send` is not called.
  void Close();

  void OnPublish() override;
  SteadyTime Run(SteadyTime now) override;

 private:
  struct Lease {
    std::shared_ptr<WorldHost> host;
    v1::CommandResponse last;  // to the last accepted command
    bool pending = false;      // `last` is not sent yet
    std::uint64_t sent_version = 0;
    std::uint64_t sent_sequence = 0;  // of the last command that feedback was sent on
    SteadyTime next_due;
  };

  void DropEndedLeases();
  std::optional<v1::CommandResponse> CalcResponse(const std::string& lease_id, Lease* lease,
                                                  SteadyTime now, SteadyTime* next);

  Handlers* const handlers_;
  const Call call_;
  const std::function<void(const v1::CommandResponse&)> send_;
  std::mutex mutex_;
  bool closed_ = false;
  bool ready_ = true;
  std::map<std::string, Lease> leases_;  // by id
  std::string served_;                   // the last lease for which feedback was sent
};

}  // namespace pliant::server
