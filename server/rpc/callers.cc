#include "server/rpc/callers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/server_context.h"

#include "server/auth/tokens.h"
#include "server/service/handlers.h"

namespace pliant::server {

Call Callers::MakeCall(const grpc::ServerContextBase& context,
                       std::shared_ptr<const std::atomic<bool>> cancelled) {
  Call call;
  const auto [header, end] = context.client_metadata().equal_range("authorization");
  const absl::string_view text =
      header == end ? absl::string_view()
                    : absl::string_view(header->second.data(), header->second.size());
  absl::StatusOr<Identity> identity = handlers_->Identify(ReadBearer(text));
  absl::StatusOr<std::shared_ptr<Caller>> caller =
      identity.ok() ? Find(context.peer(), *std::move(identity))
                    : absl::StatusOr<std::shared_ptr<Caller>>(identity.status());
  if (caller.ok()) {
    call.caller = *std::move(caller);
  } else {
    call.caller = std::make_shared<Caller>();
    call.caller->connection = call.caller->name = absl::StrCat("grpc ", context.peer());
    call.caller->refusal = caller.status();
  }
  call.limits.cancelled = std::move(cancelled);
  call.lends_thread = true;

  // convert the deadline from the wall clock to the steady clock
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left < std::chrono::hours(24 * 365))
    call.limits.deadline = std::chrono::steady_clock::now() + left;
  return call;
}

absl::StatusOr<std::shared_ptr<Caller>> Callers::Find(const std::string& peer, Identity identity) {
  std::lock_guard lock(mutex_);
  if (callers_.size() >= sweep_at_) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * callers_.size());
  }
  const std::string key = absl::StrCat(peer, " ", identity.credential);
  if (!callers_.contains(key) && CountOfPeer(peer) >= max_per_peer_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this client has ", max_per_peer_,
                     " connections already; --max-connections-per-peer bounds them"));
  }
  std::weak_ptr<Caller>& known = callers_[key];
  std::shared_ptr<Caller> caller = known.lock();
  if (caller == nullptr || caller->identity.generation != identity.generation) {
    caller = std::make_shared<Caller>();
    caller->connection = absl::StrCat("grpc ", peer);
    caller->name = identity.name.empty() ? caller->connection : identity.name;
    caller->identity = std::move(identity);
    known = caller;
  }
  return caller;
}

// Connections from the same address, whatever their ports. Removes those that have ended.
int Callers::CountOfPeer(const std::string& peer) {
  const std::string address = peer.substr(0, peer.rfind(':') + 1);
  int count = 0;
  for (auto at = callers_.lower_bound(address); at != callers_.end();) {
    if (at->first.compare(0, address.size(), address) != 0) break;
    if (at->second.expired()) {
      at = callers_.erase(at);
    } else {
      ++at;
      ++count;
    }
  }
  return count;
}

}  // namespace pliant::server
