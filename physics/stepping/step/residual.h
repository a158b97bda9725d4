#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/participation.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Memory for CalcResidual to work in.
struct ResidualScratch {
  std::vector<double> exerted;                       // by participants
  std::vector<double> residual, momentum, diagonal;  // by StepBlocks::spaces
  // A block's part of the criterion, in its norm.
  struct Squares {
    double error = 0, momentum = 0, impulse = 0;
  };
  std::vector<Squares> squares;
};

// ‖D (m(v) − Jᵀγ)‖ / max(‖D A v‖, ‖D Jᵀγ‖) on the full, unreduced system, D = diag(A)^(−1/2). 0
// when the numerator is below 1e-14.
double CalcResidual(std::span<const double> v, const solvers::Impulses& impulses,
                    const StepBlocks& blocks, const Participation& participation,
                    const solvers::ConstraintSystem& system, ResidualScratch* scratch);

}  // namespace pliant::physics
