#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "pliant/v1/control.pb.h"
#include "server/host/world_host.h"
#include "server/rpc/handlers.h"
#include "server/stream/pump.h"

namespace pliant::server {

// Feedback to a commanding client: the last command that a step applied, and the contact force on
// the target. Conflated: at most 100 a second, only the latest, and none until the previous one is
// written.
class CommandFeedback : public PumpClient, public std::enable_shared_from_this<CommandFeedback> {
 public:
  // `send` is called on the pump's thread and must not block. Call Ready when it can take another
  // response.
  CommandFeedback(Handlers* handlers, std::function<void(const v1::CommandResponse&)> send);

  void Open();
  // Reports that `command` was accepted with response `taken`; feedback is about its lease from now
  // on.
  void Follow(const v1::CommandRequest& command, const v1::CommandResponse& taken);
  void Ready();
  void Close();  // after it returns, `send` is not called

  SteadyTime Visit(SteadyTime now) override;

 private:
  Handlers* const handlers_;
  const std::function<void(const v1::CommandResponse&)> send_;
  std::mutex mutex_;
  bool closed_ = false;
  bool ready_ = true;
  std::shared_ptr<WorldHost> host_;
  std::string lease_id_;
  v1::CommandResponse last_;  // of the last accepted command
  bool pending_ = false;      // last_ is not sent yet
  std::uint64_t sent_version_ = 0;
  SteadyTime next_due_;
};

}  // namespace pliant::server
