#pragma once

#include <span>

#include "solvers/convex/sap.h"

namespace pliant::solvers {

// Residual of the regularised laws of contacts and rows, from velocities and impulses alone,
// independent of the solver that found them. It is the largest difference between an impulse and
// the one that the law gives at the velocity, in the norm γ ↦ √w ‖γ‖ with the estimates w of W,
// relative to the largest impulse; 0 if all differences are rounding errors.
//
// contacts, rows  laws of all contacts and rows of the system; v_hat without recovery of overlap
// impulses, v     of the whole system [N·s], [m/s]
double CalcLawResidual(const ConstraintSystem& system,
                       std::span<const ConvexProblem::Contact> contacts,
                       std::span<const ConvexProblem::Row> rows, const ContactLaw* law,
                       const Impulses& impulses, std::span<const double> v);

}  // namespace pliant::solvers
