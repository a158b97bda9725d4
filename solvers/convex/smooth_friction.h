#pragma once

#include <Eigen/Core>

#include "solvers/convex/friction_cone.h"

namespace pliant::solvers {

// How a regularised contact answers to its velocity. Beside the cone, friction smoothed near zero slip, convex too. The
// normal law is the same, n = ((v̂_n − v_n)/R_n)₊; sticking becomes creep below a slip speed ε: ‖v_t‖_s = √(‖v_t‖² + ε²) − ε,
// t̂_s its gradient.
enum class ContactLaw {
  kCone,     // what ProjectOntoFrictionCone projects onto; not a smooth one
  kSimilar,  // γ_n = n(v_n − μ ‖v_t‖_s), γ_t = −μ γ_n t̂_s: glides on a gap in proportion to its slip, as a cone does
  kLagged,  // γ_n = n(v_n), γ_t = −μ n₀ t̂_s with the last step's n₀: no gliding; no friction in a contact's first step
};

struct SmoothContact {
  ConeProjection projection;  // mode: open without impulse, stick below ε, slide above
  double cost;                // the potential of which γ is minus the gradient in v_c [J]
};

// y        R⁻¹ (v̂ − v_c) with v̂_t = 0 [N·s]
// R        (R_t, R_t, R_n) as for the cone [s/kg]
// slip     ε > 0 [m/s]
// lagged   n₀ [N·s]; not read by kSimilar
//
// `law` is one of the smooth ones.
SmoothContact EvaluateSmoothFriction(ContactLaw law, const Eigen::Vector3d& y,
                                     const Eigen::Vector3d& R, double mu, double slip,
                                     double lagged);

}  // namespace pliant::solvers
