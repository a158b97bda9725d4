#include "server/rpc/callers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/server_context.h"

#include "server/auth/tokens.h"
#include "server/rpc/connections.h"
#include "server/service/handlers.h"

namespace pliant::server {

Call Callers::MakeCall(const grpc::ServerContextBase& context,
                       std::shared_ptr<const std::atomic<bool>> cancelled) {
  Call call;
  const auto [header, end] = context.client_metadata().equal_range("authorization");
  const absl::string_view text =
      header == end ? absl::string_view()
                    : absl::string_view(header->second.data(), header->second.size());
  const std::string peer = context.peer();
  const absl::Status admitted = connections_->Check(peer);
  absl::StatusOr<Identity> identity =
      admitted.ok() ? handlers_->Identify(ReadBearer(text)) : admitted;
  if (identity.ok()) {
    call.caller = Find(peer, *std::move(identity));
  } else {
    call.caller = std::make_shared<Caller>();
    call.caller->connection = call.caller->name = absl::StrCat("grpc ", peer);
    call.caller->refusal = identity.status();
  }
  call.limits.cancelled = std::move(cancelled);

  // convert the deadline from the wall clock to the steady clock
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left < std::chrono::hours(24 * 365))
    call.limits.deadline = std::chrono::steady_clock::now() + left;
  return call;
}

std::shared_ptr<Caller> Callers::Find(const std::string& peer, Identity identity) {
  std::lock_guard lock(mutex_);
  if (callers_.size() >= sweep_at_) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * callers_.size());
  }
  const std::string key = absl::StrCat(peer, " ", identity.credential);
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

}  // namespace pliant::server
