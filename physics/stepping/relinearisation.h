#pragma once

#include <span>

#include "absl/status/statusor.h"

#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// When tangents of momentum balances that are not linear are taken anew at the solution.
struct RelinearisationLimits {
  int max_count = 0;
  // The residual of the nonlinear momentum balance that is good enough, relative; 0: tangents are
  // taken anew where they have become stale, whatever the residual.
  double tolerance = 0;
};

// Takes tangents that solution velocities v, by StepBlocks::spaces, have left behind to where it
// led (Newton's method around that of the solver, halved where the residual grew), and with them
// the system's blocks. `round` counts the rounds of the step's present contacts from 0. Returns
// whether there is more to solve; INTERNAL, naming the body, as ReduceBlocks.
absl::StatusOr<bool> RelineariseStep(std::span<const double> v,
                                     std::span<const double> v_participating,
                                     const solvers::Impulses& impulses,
                                     const RelinearisationLimits& limits, int round,
                                     StepStages* stages, StepReport* report);

}  // namespace pliant::physics
