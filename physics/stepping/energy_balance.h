#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/stages.h"

namespace pliant::physics {

struct EnergyScratch {
  std::vector<double> mean, end;  // velocities
};

// Work done on the bodies over a step by inputs, drives, springs between bodies and prescribed
// motions [J]. `v` are the solved velocities, by StepBlocks::spaces.
//
// The work of an impulse is its product with the mean of the velocities at the start and at the
// end, which is its change of the kinetic energy. Gravity counts as potential energy; friction,
// limits and rigid joints supply no energy. Without impulses of contacts, the work of
// prescribed motions through contacts is left out.
double CalcSuppliedWork(std::span<const double> v, const solvers::Impulses& impulses,
                        const StepStages& stages, EnergyScratch* scratch);

}  // namespace pliant::physics
