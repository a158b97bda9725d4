#pragma once

#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// Limits on relinearising nonlinear momentum balances at the solution.
struct RelinearisationLimits {
  int max_count = 0;
  // Relative residual of the nonlinear momentum balance at which relinearisation stops; 0:
  // relinearise all stale tangents regardless of the residual.
  double tolerance = 0;
};

// Relinearises stale tangents at solution velocities v, by StepBlocks::spaces (Newton's method
// around the solver's, halved where the residual grew), and updates the system's blocks. `round`
// counts the rounds with the present contacts from 0; `calc_residual` gives the relative residual
// of the nonlinear momentum balance. Returns whether to solve again; INTERNAL, naming the body, as
// ReduceBlocks.
absl::StatusOr<bool> RelineariseStep(std::span<const double> v,
                                     std::span<const double> v_participating,
                                     absl::FunctionRef<double()> calc_residual,
                                     const RelinearisationLimits& limits, int round,
                                     StepStages* stages, StepReport* report);

// Poses blocks ahead that gain energy in the step to v, since their balance is lagged
// (LaggedBalance::CalcRelativeGain), and updates the system's blocks. `round` counts from 0.
// Returns whether to solve again; INTERNAL as above.
absl::StatusOr<bool> PoseGainingBlocksAhead(std::span<const double> v,
                                            std::span<const double> v_participating, int round,
                                            StepStages* stages, StepReport* report);

}  // namespace pliant::physics
