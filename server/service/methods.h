#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/service/call.h"

namespace pliant::server {

class Handlers;

// A method of the API. Both transports serve the methods of this one table.
struct Method {
  std::string name;  // as in gRPC, e.g. "pliant.v1.WorldService/GetWorld"
  Role role;         // required of the caller
  int cost;          // of a request that waits for its reply; see kMaxUnanswered
  // Handles serialised messages. Empty for streams, which each transport serves itself.
  std::function<void(Handlers&, const Call&, std::string_view, Reply<std::string>)> handle;
};

// Total cost of the requests of one client that may wait for replies. It bounds the memory and the
// share of the work queues that a client can take.
inline constexpr int kMaxUnanswered = 64;

// Maximum size of a reply, which clients must be able to receive [B].
inline constexpr std::size_t kMaxReply = 4 << 20;

inline constexpr char kSubscribeMethod[] = "pliant.v1.StreamService/Subscribe";
inline constexpr char kCommandMethod[] = "pliant.v1.ControlService/Command";
// A stream of requests with a reply each, which are handled like those of other methods.
inline constexpr char kLockstepMethod[] = "pliant.v1.WorldService/Lockstep";

const std::vector<Method>& Methods();

// Answers a request: `request` and the reply are serialised messages of the method. Errors:
// UNIMPLEMENTED for an unknown method, those of Admit, RESOURCE_EXHAUSTED when too many requests of
// the caller are unanswered, INVALID_ARGUMENT when the request cannot be read.
void Dispatch(Handlers& handlers, const Call& call, std::string_view method,
              std::string_view request, Reply<std::string> reply);

// Returns the call with the role that `method` requires. UNAUTHENTICATED when the caller has no
// identity, or one that is no longer current; PERMISSION_DENIED, naming the role, when the caller
// has it on no world.
absl::StatusOr<Call> Admit(const Handlers& handlers, const Call& call, std::string_view method);

// RESOURCE_EXHAUSTED when the caller has sent more than kMaxCostPerSecond.
absl::Status CheckRate(const Call& call, int cost, SteadyTime now);

}  // namespace pliant::server
