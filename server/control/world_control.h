#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/control.pb.h"
#include "server/control/drive.h"
#include "server/control/lease_table.h"
#include "server/control/read_command.h"
#include "server/control/robot_drive.h"
#include "server/control/targets.h"
#include "server/host/step_controller.h"

namespace pliant::server {

// Control of one world: leases on its targets, the mailbox of commands (the latest for each
// target), and the drives that turn commands into targets and forces step by step. Clients call
// from any thread; the host advances it on the stepping thread.
//
// The drives keep their own state in the State (State::drives), so that equal requests from equal
// states give equal states, bit for bit. Leases and the mailbox are not in it: motion commanded
// under a lease ends where the lease does not exist, as in a restored world.
class WorldControl : public StepController {
 public:
  // Lifetime of a command, after which the body ramps to rest and nothing pulls it. For robots see
  // RobotDrive.
  static constexpr std::chrono::milliseconds kCommandTime{100};
  static constexpr int kMaxPriority = 100;

  explicit WorldControl(std::shared_ptr<const physics::Model> model);

  // NOT_FOUND for an unknown target, INVALID_ARGUMENT for one that takes no commands and for a
  // priority out of range, FAILED_PRECONDITION when held.
  absl::StatusOr<v1::Lease> Acquire(const v1::AcquireLeaseRequest& request,
                                    SteadyTime now) override;
  absl::Status Release(const std::string& lease_id, SteadyTime now) override;
  bool IsValid(const std::string& lease_id, SteadyTime now) override;

  // Accepts a command and returns the name of its target. Errors: INVALID_ARGUMENT when it is not
  // finite, has the wrong length, or names something its target does not have; OUT_OF_RANGE when
  // its sequence is stale; FAILED_PRECONDITION without a valid lease, while the world is stopped,
  // and when it names an epoch before the last reset or restore.
  absl::StatusOr<std::string> Submit(const v1::CommandRequest& command, SteadyTime now) override;

  // Commands without leases. Errors: as Acquire and Submit; FAILED_PRECONDITION when a client holds
  // a lease on a target.
  absl::StatusOr<StepInputs> Hold(const std::vector<v1::TargetCommand>& commands,
                                  SteadyTime now) override;

  absl::StatusOr<ActuatorList> FindActuators(const v1::BatchTarget& joints) const override;
  absl::Status CheckTargets(const std::vector<ActuatorList>& lists, SteadyTime now) override;

  void Stop() override;    // latched
  void Resume() override;  // earlier commands are not resumed

  physics::Inputs Advance(const physics::State& state, SteadyTime now) override;
  physics::Inputs AdvanceTargets(const std::vector<ActuatorList>& lists,
                                 std::span<const double> values, const physics::State& state,
                                 SteadyTime now) override;
  void Drop(std::uint32_t epoch) override;
  ControlCounters counters() const override;
  ControlStatus Describe(SteadyTime now) override;
  std::optional<SteadyTime> CalcNextChange() override;

 private:
  // The last command on a target.
  struct Command {
    std::string lease_id;
    std::uint64_t sequence = 0;
    double client_time = 0;
    SteadyTime received;
    std::optional<DriveGoal> goal;  // of a KINEMATIC body
  };
  // The last pull on a target. Other commands on a robot do not change it.
  struct HeldPull {
    std::string lease_id;
    SteadyTime received;
    Pull pull;
  };
  struct Applied {
    std::string lease_id;
    std::uint64_t sequence = 0;
    std::int64_t step = 0;
    double client_time = 0;
    double latency = 0;  // [s]
  };

  // Goals that hold through the steps of a request, by target.
  using Held = std::map<int, std::vector<Goals>>;

  // FAILED_PRECONDITION when a client holds a lease on the target, or the world is stopped.
  absl::Status CheckFree(const LeaseTable::Target& target, SteadyTime now);
  physics::Inputs AdvanceWith(const Held& held, const physics::State& state, SteadyTime now);
  void TakeCommands(const physics::State& state, SteadyTime now);
  void AdvanceBodies(const Held& held, const physics::State& state, const double* from,
                     SteadyTime now, physics::Inputs* inputs);
  void AdvanceRobots(const Held& held, const physics::State& state, const double* from,
                     SteadyTime now, physics::Inputs* inputs);
  void AddPulls(const Held& held, physics::Inputs* inputs) const;
  bool is_engaged() const;
  bool Holds(const std::string& lease_id) const;
  bool IsFresh(SteadyTime received, SteadyTime now) const;
  void MarkApplied(const Command& command, int target, std::int64_t step, SteadyTime now);

  const std::shared_ptr<const physics::Model> model_;
  const Targets targets_;
  const CommandReader reader_;
  mutable std::mutex mutex_;
  LeaseTable leases_;
  std::map<int, Command> mailbox_;  // by target, as the next two
  std::map<int, HeldPull> pulls_;
  std::map<int, Applied> applied_;
  Histogram latency_;
  bool stopped_ = false;
  std::uint32_t epoch_ = 0;
  std::map<int, Drive> drives_;       // of the target of every KINEMATIC body
  std::map<int, RobotDrive> robots_;  // by robot, of those with actuators
  std::size_t num_saved_ = 0;         // size of State::drives once a drive is engaged
};

}  // namespace pliant::server
