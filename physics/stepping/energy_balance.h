#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/stages.h"

namespace pliant::physics {

struct EnergyScratch {
  std::vector<double> mean, end;  // velocities
};

// Work done on the bodies over a step by all that is outside of them [J]: inputs, drives, springs
// between bodies and prescribed motions. `v` are the solved velocities, by StepBlocks::spaces.
//
// An impulse works along the mean of the velocities at the start and the end, by which the kinetic
// energy changes. Gravity is no work but potential energy; friction, limits and rigid joints take
// energy and supply none.
double CalcSuppliedWork(std::span<const double> v, const solvers::Impulses& impulses,
                        const StepStages& stages, EnergyScratch* scratch);

}  // namespace pliant::physics
