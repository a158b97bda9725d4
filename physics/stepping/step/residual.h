#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/participation.h"

namespace pliant::physics {

// Scratch of CalcResidual.
struct ResidualScratch {
  std::vector<double> exerted;                       // by participants
  std::vector<double> residual, momentum, diagonal;  // by StepBlocks::spaces
  // Contribution of a block to the criterion, in its norm.
  struct Squares {
    double error = 0, momentum = 0, impulse = 0, force = 0, rounding = 0;
  };
  std::vector<Squares> squares;
};

// ‖D (m(v) − Jᵀγ)‖ / max(‖D A v‖, ‖D Jᵀγ‖) on the full, unreduced system, D = diag(A)^(−1/2). 0
// when the numerator is below 1e-14 or at the level of rounding. `exerted` is Jᵀγ on the
// participating velocities. `size` is a lower bound of the denominator, for instance for impulses
// that cancel.
double CalcResidual(std::span<const double> v, std::span<const double> exerted, double size,
                    const StepBlocks& blocks, const Participation& participation,
                    ResidualScratch* scratch);

}  // namespace pliant::physics
