#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/auth/identity.h"
#include "server/host/world_host.h"
#include "server/service/rate_limit.h"

namespace pliant::server {

// Maximum cost of the requests of one client in a second. The most frequent ones cost 1.
inline constexpr int kMaxCostPerSecond = 50'000;

// A client: one connection of either transport, as one user.
struct Caller {
  std::string name;        // in logs and errors: its user, or e.g. "ws-3"
  std::string connection;  // e.g. "ws-3"
  std::string label;       // given by the client itself, and shown to others
  Identity identity;       // without grants, every request is refused with `refusal`
  absl::Status refusal;
  std::atomic<int> unanswered{0};  // cost of its requests without a reply
  RateLimit rate{kMaxCostPerSecond};
};

// Context of one request: its sender, and its deadline.
struct Call {
  std::shared_ptr<Caller> caller;
  CallLimits limits;
  // The thread that received the request may execute a step of it that is sure to be quick.
  bool lends_thread = false;
  // Role that its method requires on each world that it concerns. Set by Admit.
  Role required = Role::kAdmin;
  std::string_view method = "an unknown method";
};

// Called exactly once, from any thread; must not block.
template <typename T>
using Reply = std::function<void(absl::StatusOr<T>)>;

}  // namespace pliant::server
