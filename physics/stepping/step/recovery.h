#pragma once

#include <span>
#include <vector>

#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Lets the rigid contacts and stops keep their overlap that push bodies apart at velocities v of
// the system. Solved once more, they only keep it from growing. Returns the fastest speed at which
// they pushed [m/s] or [rad/s]; 0 when none did.
//
// A contact that overlaps closes its gap within a step or two, and the velocity by which it does so
// would stay with the bodies: a rebound that nobody asked for. Contacts and stops with a stiffness
// are springs, which may push.
double AllowOverlap(std::span<const double> v, const solvers::Impulses& impulses,
                    solvers::ConstraintSystem* system);

// Reduces v_position − v, which takes overlap away, to a share of it.
void LimitRecovery(double share, std::span<const double> v, std::vector<double>* v_position);

}  // namespace pliant::physics
