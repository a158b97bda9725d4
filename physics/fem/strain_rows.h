#pragma once

#include <array>

#include "physics/fem/elements.h"

namespace pliant::physics {

// A symmetric tensor by its components xx, yy, zz, √2 xy, √2 yz, √2 zx, which preserve the inner
// product.
using LaneStrain = std::array<Lane, 6>;
using LaneStrainMatrix = std::array<Lane, 36>;

// Symmetric part of RᵀA.
LaneStrain CalcSymmetricPart(const LaneMatrix3& R, const LaneMatrix3& A);

// N = ∂T/∂S for F = R S and P = R T: ∂P/∂F restricted to R times symmetric tensors [Pa]. The
// tangent's response to spin is left to geometric stiffness.
LaneStrainMatrix CalcStrainStiffness(const LaneMatrix3& R, const std::array<Lane, 81>& tangent);

// N⁻¹ for a positive definite N whose Cholesky pivots are all above kMinStiffness of its trace.
// Otherwise the eigenvalues of N are first raised to kMinStiffness of the largest, and bit l of
// `projected` is set where this changed lane l.
inline constexpr double kMinStiffness = 1e-3;
LaneStrainMatrix CalcStrainCompliance(const LaneStrainMatrix& N, unsigned* projected);

// N⁻¹ of Hooke's law with Lamé's moduli, in closed form.
LaneStrainMatrix CalcHookeCompliance(const Lane& mu, const Lane& lambda);

}  // namespace pliant::physics
