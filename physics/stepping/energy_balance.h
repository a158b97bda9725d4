#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/state.h"
#include "physics/stepping/step/trial_state.h"

namespace pliant::physics {

struct EnergyScratch {
  std::vector<double> mean, end;  // velocities
  TrialState trial;
};

// Work done on the bodies over a step by all that is outside of them [J]: inputs, drives, springs
// between bodies and prescribed motions. `v` are the solved velocities, by StepBlocks::spaces.
//
// An impulse works along the mean of the velocities at the start and the end, by which the kinetic
// energy changes. Gravity is no work but potential energy; friction, limits and rigid joints take
// energy and supply none.
double CalcSuppliedWork(std::span<const double> v, const solvers::Impulses& impulses,
                        const StepStages& stages, EnergyScratch* scratch);

// Energy that the step may release from where it is not counted [J]: from compressed contacts, and
// by taking overlap away, which lifts bodies. They move from `state` with the velocities
// `v_position`, and end with `v`.
double CalcReleasedEnergy(const State& state, std::span<const double> v,
                          std::span<const double> v_position, const solvers::Impulses& impulses,
                          const StepStages& stages, EnergyScratch* scratch);

}  // namespace pliant::physics
