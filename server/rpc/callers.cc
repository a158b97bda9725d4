#include "server/rpc/callers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/server_context.h"

namespace pliant::server {

Call Callers::MakeCall(const grpc::CallbackServerContext& context,
                       std::shared_ptr<const std::atomic<bool>> cancelled) {
  Call call;
  call.caller = Find(context.peer());
  call.limits.cancelled = std::move(cancelled);

  // convert the deadline from the wall clock to the steady clock
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left < std::chrono::hours(24 * 365))
    call.limits.deadline = std::chrono::steady_clock::now() + left;
  return call;
}

std::shared_ptr<Caller> Callers::Find(const std::string& peer) {
  std::lock_guard lock(mutex_);
  if (callers_.size() >= sweep_at_) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * callers_.size());
  }
  std::weak_ptr<Caller>& known = callers_[peer];
  std::shared_ptr<Caller> caller = known.lock();
  if (caller == nullptr) {
    caller = std::make_shared<Caller>();
    caller->name = absl::StrCat("grpc ", peer);
    known = caller;
  }
  return caller;
}

}  // namespace pliant::server
