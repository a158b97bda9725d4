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

// What comes back to one who drives: the last command a step took, and the contact force on the
// target. Conflated: at most 100 a second, the latest only, and none while the last one is not
// written yet.
class CommandFeedback : public PumpClient, public std::enable_shared_from_this<CommandFeedback> {
 public:
  // `send` is called on the pump's thread and must not block; Ready says that it can take another.
  CommandFeedback(Handlers* handlers, std::function<void(const v1::CommandResponse&)> send);

  void Open();
  // The command that `taken` answers was accepted: feedback is about its lease from here.
  void Follow(const v1::CommandRequest& command, const v1::CommandResponse& taken);
  void Ready();
  void Close();  // when it returns `send` is called no more

  SteadyTime Visit(SteadyTime now) override;

 private:
  Handlers* const handlers_;
  const std::function<void(const v1::CommandResponse&)> send_;
  std::mutex mutex_;
  bool closed_ = false;
  bool ready_ = true;
  std::shared_ptr<WorldHost> host_;
  std::string lease_id_;
  v1::CommandResponse last_;  // of the last command taken
  bool pending_ = false;      // it was not sent yet
  std::uint64_t sent_version_ = 0;
  SteadyTime next_due_;
};

}  // namespace pliant::server
