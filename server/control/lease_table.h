#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/host/clock.h"

namespace pliant::server {

// Leases on commanded targets. Targets that share a unit, as a robot and its actuator groups, have
// at most one holder between them. A lease lapses when not used for kLeaseTime, so that a client
// that has gone does not keep its target. For coordination, not protection: a client of at least
// the holder's priority may take over with `takeover`, and the previous holder receives the new
// one's name.
class LeaseTable {
 public:
  static constexpr std::chrono::milliseconds kLeaseTime{1000};

  // A target as numbered by WorldControl: its name, and the units that it consists of.
  struct Target {
    int number = -1;
    std::string name;
    std::vector<int> units;
  };

  struct Lease {
    std::string id;
    Target target;
    std::string client;
    int priority = 0;
    std::uint64_t last_sequence = 0;
    SteadyTime last_use;
  };

  // A new lease on `target`, or the renewed one when `renewed_id` names it. FAILED_PRECONDITION
  // when another holds a unit of it, and either `takeover` is not set or its priority is higher.
  absl::StatusOr<Lease> Acquire(const Target& target, const std::string& client, bool takeover,
                                int priority, const std::string& renewed_id, SteadyTime now);

  // FAILED_PRECONDITION when the lease no longer exists; the message says whether it lapsed, was
  // released or taken over.
  absl::Status Release(const std::string& id, SteadyTime now);

  // Records a command with this sequence number and returns the lease's target. FAILED_PRECONDITION
  // as above; OUT_OF_RANGE unless `sequence` is larger than the last one.
  absl::StatusOr<int> Use(const std::string& id, std::uint64_t sequence, SteadyTime now);

  // Target of a valid lease; nullopt otherwise.
  std::optional<int> FindTarget(const std::string& id) const;

  // A lease on any of these units; null when nobody holds one.
  const Lease* FindHolder(const std::vector<int>& units) const;

  // Drops lapsed leases; true when there were any.
  bool Expire(SteadyTime now);

  // Valid leases by target.
  const std::map<int, Lease>& leases() const { return leases_; }

 private:
  absl::StatusOr<Lease*> Find(const std::string& id, SteadyTime now);
  void End(std::map<int, Lease>::iterator lease, std::string why);

  std::map<int, Lease> leases_;
  std::deque<std::pair<std::string, std::string>> ended_;  // id and reason, the latest ones only
  std::uint64_t next_number_ = 1;
};

}  // namespace pliant::server
