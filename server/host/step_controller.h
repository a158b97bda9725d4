#pragma once

#include <optional>

#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "server/host/published.h"

namespace pliant::server {

// Turns what clients command into the inputs of a step. A host calls it on its stepping thread alone; what clients say
// reaches it by its own mailbox.
class StepController {
 public:
  virtual ~StepController() = default;

  // Commanded inputs of the step that starts at `state`. `now` decides which commands are too old.
  virtual physics::Inputs Advance(const physics::State& state, SteadyTime now) = 0;

  // After a reset, a restore or a pause: motion and targets are dropped, nothing is resumed.
  virtual void Drop() = 0;

  virtual ControlStatus Describe(SteadyTime now) = 0;

  // When Describe next changes without anybody asking; none when it does not.
  virtual std::optional<SteadyTime> CalcNextChange() = 0;
};

}  // namespace pliant::server
