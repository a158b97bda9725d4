#include "server/control/lease_table.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"

namespace pliant::server {
namespace {

constexpr std::size_t kMaxEndedLeases = 64;
constexpr std::size_t kMaxClientNameLength = 64;

// Makes an id with a random part, so that it can neither be guessed nor name a new lease after a
// restart.
std::string MakeId(std::uint64_t number) {
  std::random_device device;
  return absl::StrCat("lease-", number, "-", absl::Hex(device(), absl::kZeroPad8),
                      absl::Hex(device(), absl::kZeroPad8));
}

bool SharesUnit(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

}  // namespace

absl::StatusOr<LeaseTable::Lease> LeaseTable::Acquire(const Target& target,
                                                      const std::string& client_name, bool takeover,
                                                      int priority, const std::string& renewed_id,
                                                      SteadyTime now) {
  Expire(now);
  if (!renewed_id.empty()) {
    absl::StatusOr<Lease*> lease = Find(renewed_id, now);
    if (!lease.ok()) return lease.status();
    if ((*lease)->target.number != target.number) {
      return absl::InvalidArgumentError(
          absl::StrCat("lease_id: ", renewed_id, " is not a lease on \"", target.name, "\""));
    }
    (*lease)->last_use = now;
    return **lease;
  }
  for (const auto& [number, held] : leases_) {
    if (!SharesUnit(held.target.units, target.units)) continue;
    const std::string who = absl::StrCat("\"", held.target.name, "\" is driven by ", held.client);
    if (held.priority > priority) {
      return absl::FailedPreconditionError(absl::StrCat(who, " with priority ", held.priority,
                                                        ", above the requested ", priority,
                                                        "; wait until it is released"));
    }
    if (!takeover) {
      return absl::FailedPreconditionError(
          absl::StrCat(who, "; wait until it is released, or set takeover"));
    }
  }
  const std::string client =
      client_name.empty() ? "anonymous" : Shorten(client_name, kMaxClientNameLength);
  for (auto held = leases_.begin(); held != leases_.end();) {
    const auto next = std::next(held);
    if (SharesUnit(held->second.target.units, target.units))
      End(held, absl::StrCat("was taken over by ", client));
    held = next;
  }
  Lease lease{MakeId(next_number_++), target, client, priority, 0, now};
  leases_[target.number] = lease;
  return lease;
}

absl::Status LeaseTable::Release(const std::string& id, SteadyTime now) {
  absl::StatusOr<Lease*> lease = Find(id, now);
  if (!lease.ok()) return lease.status();
  End(leases_.find((*lease)->target.number), "was released");
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
  return (*lease)->target.number;
}

std::optional<int> LeaseTable::FindTarget(const std::string& id) const {
  for (const auto& [target, lease] : leases_) {
    if (lease.id == id) return target;
  }
  return std::nullopt;
}

const LeaseTable::Lease* LeaseTable::FindHolder(const std::vector<int>& units) const {
  for (const auto& [target, lease] : leases_)
    if (SharesUnit(lease.target.units, units)) return &lease;
  return nullptr;
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
