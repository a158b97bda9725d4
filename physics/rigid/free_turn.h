#pragma once

#include <Eigen/Core>

namespace pliant::physics {

// Angular velocity at the end of a step whose momentum L [kg·m²/s] is known: ω = R1 I⁻¹ R1ᵀ L with
// R1 = exp(h ω) R0. Explicit gyroscopic torques make |L| drift; this keeps it to rounding. In the
// body's initial axes, with w = R0ᵀ ω, the equation is I w = exp(−h w) R0ᵀ L.
Eigen::Vector3d SolveAngularVelocity(const Eigen::Matrix3d& inertia, const Eigen::Matrix3d& R0,
                                     const Eigen::Vector3d& L, double h,
                                     const Eigen::Vector3d& guess);

}  // namespace pliant::physics
