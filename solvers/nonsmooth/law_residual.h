#pragma once

#include <span>

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

}  // namespace pliant::solvers
