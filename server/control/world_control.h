#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/drive.h"
#include "server/control/lease_table.h"
#include "server/control/robot_drive.h"
#include "server/host/step_controller.h"

namespace pliant::server {

// Control of one world: leases on KINEMATIC bodies and on robots, the mailbox of commands (the
// latest for each target), and the drives that turn commands into targets step by step. Clients
// call from any thread; the host advances it on the stepping thread.
class WorldControl : public StepController {
 public:
  // Lifetime of a command, after which the body ramps to rest. For robots see RobotDrive.
  static constexpr std::chrono::milliseconds kCommandTime{100};

  explicit WorldControl(std::shared_ptr<const physics::Model> model,
                        const DriveLimits& limits = {});

  // The target is a KINEMATIC body or a robot with actuators. NOT_FOUND for an unknown one,
  // INVALID_ARGUMENT for one that takes no commands, FAILED_PRECONDITION when held.
  absl::StatusOr<v1::Lease> Acquire(const v1::AcquireLeaseRequest& request,
                                    SteadyTime now) override;
  absl::Status Release(const std::string& lease_id, SteadyTime now) override;

  // Accepts a command and returns the name of its target. Errors: INVALID_ARGUMENT when it is not
  // finite, has the wrong length, or names something its target does not have; OUT_OF_RANGE when
  // its sequence is stale; FAILED_PRECONDITION without a valid lease or while the world is stopped.
  absl::StatusOr<std::string> Submit(const v1::CommandRequest& command, SteadyTime now) override;

  // Commands without leases. Errors: as Acquire and Submit; FAILED_PRECONDITION when a client holds
  // a lease on a target.
  absl::StatusOr<StepInputs> Hold(const std::vector<v1::TargetCommand>& commands,
                                  SteadyTime now) override;

  void Stop() override;    // latched
  void Resume() override;  // earlier commands are not resumed

  physics::Inputs Advance(const physics::State& state, SteadyTime now) override;
  void Drop() override;
  ControlCounters counters() const override;
  ControlStatus Describe(SteadyTime now) override;
  std::optional<SteadyTime> CalcNextChange() override;

 private:
  // Targets of leases: bodies by their index, then robots.
  using Target = int;
  struct Command {
    std::string lease_id;
    std::uint64_t sequence = 0;
    double client_time = 0;
    SteadyTime received;
    DriveGoal goal;  // of a body
  };
  struct Applied {
    std::string lease_id;
    std::uint64_t sequence = 0;
    std::int64_t step = 0;
    double client_time = 0;
    double latency = 0;  // [s]
  };

  // Goals that hold through the steps of a request.
  struct Held {
    std::map<Target, DriveGoal> bodies;
    std::map<Target, std::vector<RobotGoal>> robots;
  };

  physics::Inputs AdvanceWith(const Held& held, const physics::State& state, SteadyTime now);
  Target FindTarget(const std::string& name) const;  // −1: takes no commands
  absl::StatusOr<Target> ResolveTarget(const std::string& name) const;
  std::string NameOf(Target target) const;
  bool Holds(const std::string& lease_id, Target target) const;
  bool IsFresh(const Command& command, Target target, SteadyTime now) const;
  void MarkApplied(const Command& command, Target target, std::int64_t step, SteadyTime now);

  const std::shared_ptr<const physics::Model> model_;
  const Target first_robot_;
  mutable std::mutex mutex_;
  LeaseTable leases_;
  std::map<Target, Command> mailbox_;  // the latest only
  std::map<Target, Applied> applied_;
  Histogram latency_;
  bool stopped_ = false;
  std::map<Target, Drive> drives_;       // one for every KINEMATIC body
  std::map<Target, RobotDrive> robots_;  // one for every robot with actuators
  std::set<Target> held_robots_;         // commanded by held goals in the last step
};

}  // namespace pliant::server
