#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "server/host/histogram.h"
#include "server/host/published.h"

namespace pliant::v1 {
class AcquireLeaseRequest;
class BatchTarget;
class CommandRequest;
class Lease;
class TargetCommand;
}  // namespace pliant::v1

namespace pliant::server {

// Gives the inputs of the step that starts at a state.
using StepInputs = std::function<physics::Inputs(const physics::State& state, SteadyTime now)>;

// Actuators of one target, in the order in which a client gives their targets.
struct ActuatorList {
  int target = 0;
  std::vector<int> actuators;  // indices in Model::actuators
};

struct ControlCounters {
  int leases = 0;     // held now
  Histogram latency;  // from the receipt of a command to the start of the step that uses it
};

// Turns client commands into the inputs of a step.
class StepController {
 public:
  virtual ~StepController() = default;

  virtual ControlCounters counters() const { return {}; }

  // Client requests, from any thread. Leases and commands return INVALID_ARGUMENT if a controller
  // takes none.

  // Grants or renews a lease on a target. The lease's `world` is left empty.
  virtual absl::StatusOr<v1::Lease> Acquire(const v1::AcquireLeaseRequest& request, SteadyTime now);
  virtual absl::Status Release(const std::string& lease_id, SteadyTime now);
  // True until the lease lapses, is released or is taken over.
  virtual bool IsValid(const std::string& lease_id, SteadyTime now);
  // Returns the name of the commanded target.
  virtual absl::StatusOr<std::string> Submit(const v1::CommandRequest& command, SteadyTime now);
  virtual void Stop() {}  // ignores all commands until Resume
  virtual void Resume() {}

  // Inputs of steps through which `commands` hold, however long the steps take. Like Advance, the
  // returned function is called on the host's stepping thread only.
  virtual absl::StatusOr<StepInputs> Hold(const std::vector<v1::TargetCommand>& commands,
                                          SteadyTime now);

  // The actuators of joints, for this controller and for others of the same model.
  virtual absl::StatusOr<ActuatorList> FindActuators(const v1::BatchTarget& joints) const;

  // Errors of AdvanceTargets: as Hold.
  virtual absl::Status CheckTargets(const std::vector<ActuatorList>& lists, SteadyTime now);

  // The methods below are called only on the host's stepping thread.

  // Commanded inputs of the step that starts at `state`. `now` decides which commands are too old.
  virtual physics::Inputs Advance(const physics::State& state, SteadyTime now) = 0;

  // As Advance, with targets that hold for this step: `values` has one for each actuator of the
  // lists, which CheckTargets accepted.
  virtual physics::Inputs AdvanceTargets(const std::vector<ActuatorList>& lists,
                                         std::span<const double> values,
                                         const physics::State& state, SteadyTime now);

  // After a reset, a restore or a pause: nothing that clients commanded before is resumed. `epoch`
  // is that of the state from which the world continues.
  virtual void Drop(std::uint32_t epoch) = 0;

  virtual ControlStatus Describe(SteadyTime now) = 0;

  // Time at which Describe next changes by itself; nullopt if it does not.
  virtual std::optional<SteadyTime> CalcNextChange() = 0;
};

}  // namespace pliant::server
