#include "server/control/lease_table.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"

namespace pliant::server {
namespace {

constexpr std::size_t kMaxEndedLeases = 64;
constexpr std::size_t kMaxClientNameLength = 64;

// Makes an id with a random part, so that one from before a restart does not name a new lease.
std::string MakeId(std::uint64_t number) {
  std::random_device device;
  return absl::StrCat("lease-", number, "-", absl::Hex(device(), absl::kZeroPad8));
}

}  // namespace

absl::StatusOr<LeaseTable::Lease> LeaseTable::Acquire(int target, const std::string& target_name,
                                                      const std::string& client_name, bool takeover,
                                                      const std::string& renewed_id,
                                                      SteadyTime now) {
  Expire(now);
  const auto held = leases_.find(target);
  if (!renewed_id.empty()) {
    absl::StatusOr<Lease*> lease = Find(renewed_id, now);
    if (!lease.ok()) return lease.status();
    if ((*lease)->target != target) {
      return absl::InvalidArgumentError(
          absl::StrCat("lease_id: ", renewed_id, " is not a lease on \"", target_name, "\""));
    }
    (*lease)->last_use = now;
    return **lease;
  }
  const std::string client =
      client_name.empty() ? "anonymous" : Shorten(client_name, kMaxClientNameLength);
  if (held != leases_.end()) {
    if (!takeover) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", target_name, "\" is driven by ", held->second.client,
                       "; wait until it is released, or set takeover"));
    }
    End(held, absl::StrCat("was taken over by ", client));
  }
  Lease lease{MakeId(next_number_++), target, client, 0, now};
  leases_[target] = lease;
  return lease;
}

absl::Status LeaseTable::Release(const std::string& id, SteadyTime now) {
  absl::StatusOr<Lease*> lease = Find(id, now);
  if (!lease.ok()) return lease.status();
  End(leases_.find((*lease)->target), "was released");
  return absl::OkStatus();
}

absl::StatusOr<int> LeaseTable::Use(const std::string& id, std::uint64_t sequence, SteadyTime now) {
  absl::StatusOr<Lease*> lease = Find(id, now);
  if (!lease.ok()) return lease.status();
  if (sequence <= (*lease)->last_sequence) {
    return absl::OutOfRangeError(absl::StrCat(
        "sequence: ", sequence, " is stale; expected more than ", (*lease)->last_sequence));
  }
  (*lease)->last_sequence = sequence;
  (*lease)->last_use = now;
  return (*lease)->target;
}

std::optional<int> LeaseTable::FindTarget(const std::string& id) const {
  for (const auto& [target, lease] : leases_) {
    if (lease.id == id) return target;
  }
  return std::nullopt;
}

bool LeaseTable::Expire(SteadyTime now) {
  bool any = false;
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    const auto next = std::next(lease);
    if (now - lease->second.last_use >= kLeaseTime) {
      End(lease, "lapsed: no command or renewal for 1 s");
      any = true;
    }
    lease = next;
  }
  return any;
}

absl::StatusOr<LeaseTable::Lease*> LeaseTable::Find(const std::string& id, SteadyTime now) {
  Expire(now);
  for (auto& [target, lease] : leases_) {
    if (lease.id == id) return &lease;
  }
  for (const auto& [ended, why] : ended_) {
    if (ended == id) return absl::FailedPreconditionError(absl::StrCat("lease ", id, " ", why));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("there is no lease \"", Shorten(id, 80), "\"; call AcquireLease first"));
}

void LeaseTable::End(std::map<int, Lease>::iterator lease, std::string why) {
  ended_.emplace_back(lease->second.id, std::move(why));
  if (ended_.size() > kMaxEndedLeases) ended_.pop_front();
  leases_.erase(lease);
}

}  // namespace pliant::server
