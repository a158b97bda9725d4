#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/drive.h"
#include "server/control/lease_table.h"
#include "server/host/step_controller.h"
#include "server/host/world_host.h"

namespace pliant::server {

// Control of one world: leases, the mailbox of commands (the latest of each target), and the drives that turn them into
// pose targets step by step. Clients call from any thread; the host advances it on the stepping thread.
class WorldControl : public StepController {
 public:
  // A command is held this long, then the body ramps to rest.
  static constexpr std::chrono::milliseconds kCommandTime{100};

  explicit WorldControl(std::shared_ptr<const physics::Model> model,
                        const DriveLimits& limits = {});

  // NOT_FOUND for an unknown target, INVALID_ARGUMENT for one that is not KINEMATIC, FAILED_PRECONDITION when held.
  absl::StatusOr<LeaseTable::Lease> Acquire(const v1::AcquireLeaseRequest& request, SteadyTime now);
  absl::Status Release(const std::string& lease_id, SteadyTime now);

  // Takes a command, or says why not: INVALID_ARGUMENT when it is not finite or has the wrong length, OUT_OF_RANGE when
  // its sequence is stale, FAILED_PRECONDITION without a valid lease or while the world is stopped.
  absl::Status Submit(const v1::CommandRequest& command, SteadyTime now);

  // The body a lease is on; −1 when it is not held.
  int FindTarget(const std::string& lease_id) const;

  void Stop();    // latched
  void Resume();  // what was commanded before is not taken up again

  physics::Inputs Advance(const physics::State& state, SteadyTime now) override;
  void Drop() override;
  ControlStatus Describe(SteadyTime now) override;
  std::optional<SteadyTime> CalcNextChange() override;

 private:
  struct Command {
    std::string lease_id;
    std::uint64_t sequence = 0;
    double client_time = 0;
    SteadyTime received;
    DriveGoal goal;
  };
  struct Applied {
    std::string lease_id;
    std::uint64_t sequence = 0;
    std::int64_t step = 0;
    double client_time = 0;
  };

  std::optional<DriveGoal> FindGoal(int body, SteadyTime now) const;

  const std::shared_ptr<const physics::Model> model_;
  mutable std::mutex mutex_;
  LeaseTable leases_;
  std::map<int, Command> mailbox_;  // by body, the latest only
  std::map<int, Applied> applied_;
  bool stopped_ = false;
  std::map<int, Drive> drives_;  // one for every KINEMATIC body
};

// The control of a host whose registry makes WorldControl.
WorldControl& ControlOf(WorldHost& host);

}  // namespace pliant::server
