#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/participation.h"

namespace pliant::physics {

// Memory for CalcResidual to work in.
struct ResidualScratch {
  std::vector<double> exerted;                       // by participants
  std::vector<double> residual, momentum, diagonal;  // by StepBlocks::spaces
  // A block's part of the criterion, in its norm.
  struct Squares {
    double error = 0, momentum = 0, impulse = 0, force = 0, rounding = 0;
  };
  std::vector<Squares> squares;
};

// ‖D (m(v) − Jᵀγ)‖ / max(‖D A v‖, ‖D Jᵀγ‖) on the full, unreduced system, D = diag(A)^(−1/2). 0
// when the numerator is below 1e-14. `exerted` is Jᵀγ on the participating velocities; `size` takes
// the place of the denominator where it is larger: of impulses that cancel, say.
double CalcResidual(std::span<const double> v, std::span<const double> exerted, double size,
                    const StepBlocks& blocks, const Participation& participation,
                    ResidualScratch* scratch);

}  // namespace pliant::physics
