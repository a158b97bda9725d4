#pragma once

#include <Eigen/Core>

namespace pliant::solvers {

enum class ConeMode { kStick, kSlide, kOpen };

// Impulse of a regularised contact, and how it changes with the contact's velocity.
struct ConeProjection {
  Eigen::Vector3d gamma;  // [N·s], (t1, t2, n); ‖γ_t‖ ≤ μ γ_n
  Eigen::Matrix3d G;      // −∂γ/∂v_c [kg/s·s], symmetric positive semi-definite
  ConeMode mode;
};

// Projects the unconstrained impulse y onto the friction cone in the norm of R (han2023 (20)–(22); methods: analytic
// inverse of the regularised contact).
//
// y     R⁻¹ (v̂ − v_c) [N·s], tangential components first, normal component last
// R     diagonal regularisation (R_t, R_t, R_n) [s/kg], all positive; the first two are equal
// mu    coefficient of friction, ≥ 0
ConeProjection ProjectOntoFrictionCone(const Eigen::Vector3d& y, const Eigen::Vector3d& R,
                                       double mu);

// The impulse alone: what a line search needs.
Eigen::Vector3d ProjectImpulse(const Eigen::Vector3d& y, const Eigen::Vector3d& R, double mu);

}  // namespace pliant::solvers
