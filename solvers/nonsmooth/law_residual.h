#pragma once

#include <span>
#include <vector>

#include "solvers/nonsmooth/nonsmooth_newton.h"

namespace pliant::solvers {

// Residual of the laws of a problem's contacts and rows [m], from velocities and impulses alone,
// independent of the solver that found them. It is the largest distance by which a unit step of
// projection would move a row (the natural map, as NonsmoothResult::residuals, scaled by the
// system's estimates W). NaN if a number is not finite.
//
// impulses, v  of the whole system [N·s], [m/s]
double CalcLawResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> v);

struct SetResidualScratch {
  std::vector<double> v, J, E, error, momentum;
};

// The same for the sets of an island, whose forces are unknowns like its velocities: the largest
// error of their rows, and of A (v − v*) = h Jᵀ λ under all forces. The residual of the latter is
// multiplied by h and divided by the diagonal of A [m].
//
// set_forces  of the island's sets [N]
double CalcSetResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> set_forces, std::span<const double> v,
                       SetResidualScratch* scratch);

}  // namespace pliant::solvers
