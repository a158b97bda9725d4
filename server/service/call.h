#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/host/world_host.h"

namespace pliant::server {

// Role of a client. Each one includes those before it.
enum class Role { kViewer, kOperator, kAdmin };

const char* NameOf(Role role);

// A client: one connection of either transport.
struct Caller {
  std::string name;                // in logs and errors, e.g. "ws-3"
  std::string label;               // given by the client itself, and shown to others
  Role role = Role::kAdmin;        // without accounts, every client may do everything
  std::atomic<int> unanswered{0};  // cost of its requests without a reply
};

// Context of one request: who sent it, and how long it may take.
struct Call {
  std::shared_ptr<Caller> caller;
  CallLimits limits;
};

// Called exactly once, from any thread; must not block.
template <typename T>
using Reply = std::function<void(absl::StatusOr<T>)>;

}  // namespace pliant::server
