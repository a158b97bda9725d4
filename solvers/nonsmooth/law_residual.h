#pragma once

#include <span>
#include <vector>

#include "solvers/nonsmooth/nonsmooth_newton.h"

namespace pliant::solvers {

// Residual of the laws of a problem's contacts and rows [m], from velocities and impulses alone: it
// shares nothing with the solver that found them. The largest distance, over all rows, that a unit
// step of projection would move the row (the natural map, as NonsmoothResult::residuals, scaled by
// the system's estimates W). NaN where a number is not finite.
//
// impulses, v  of the whole system [N·s], [m/s]
double CalcLawResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> v);

struct SetResidualScratch {
  std::vector<double> v, J, E, error, momentum;
};

// The same for the sets of an island, whose forces are unknowns beside its velocities: the largest
// error of their rows, and of A (v − v*) = h Jᵀ λ under all forces, whose residual is h times that
// of a velocity, over its mass.
//
// set_forces  of the island's sets [N]
double CalcSetResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> set_forces, std::span<const double> v,
                       SetResidualScratch* scratch);

}  // namespace pliant::solvers
