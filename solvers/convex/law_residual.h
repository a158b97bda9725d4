#pragma once

#include <span>

#include "solvers/convex/sap.h"

namespace pliant::solvers {

// Residual of the regularised laws of contacts and rows, from velocities and impulses alone: it
// shares nothing with the solver that found them. The largest difference between an impulse and
// that which the law gives at the velocity, in the norm γ ↦ √w ‖γ‖ with the estimates w of W,
// relative to the largest impulse; 0 where all differences are at the level of rounding.
//
// contacts, rows  laws of all contacts and rows of the system; v_hat without recovery of overlap
// impulses, v     of the whole system [N·s], [m/s]
double CalcLawResidual(const ConstraintSystem& system,
                       std::span<const ConvexProblem::Contact> contacts,
                       std::span<const ConvexProblem::Row> rows, const ContactLaw* law,
                       const Impulses& impulses, std::span<const double> v);

}  // namespace pliant::solvers
