#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "server/host/published.h"

namespace pliant::v1 {
class AcquireLeaseRequest;
class CommandRequest;
class Lease;
}  // namespace pliant::v1

namespace pliant::server {

// Turns what clients command into the inputs of a step.
class StepController {
 public:
  virtual ~StepController() = default;

  // What clients say, from any thread. Leases and commands are INVALID_ARGUMENT where a controller
  // takes none.

  // The lease on a target, given or renewed; its world is left empty.
  virtual absl::StatusOr<v1::Lease> Acquire(const v1::AcquireLeaseRequest& request, SteadyTime now);
  virtual absl::Status Release(const std::string& lease_id, SteadyTime now);
  virtual absl::Status Submit(const v1::CommandRequest& command, SteadyTime now);
  virtual void Stop() {}  // until Resume, nothing that was commanded moves anything
  virtual void Resume() {}

  // What follows a host calls on its stepping thread alone.

  // Commanded inputs of the step that starts at `state`. `now` decides which commands are too old.
  virtual physics::Inputs Advance(const physics::State& state, SteadyTime now) = 0;

  // After a reset, a restore or a pause: motion and targets are dropped, nothing is resumed.
  virtual void Drop() = 0;

  virtual ControlStatus Describe(SteadyTime now) = 0;

  // When Describe next changes without anybody asking; none when it does not.
  virtual std::optional<SteadyTime> CalcNextChange() = 0;
};

}  // namespace pliant::server
