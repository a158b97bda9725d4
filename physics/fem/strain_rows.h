#pragma once

#include <array>

#include "physics/fem/elements.h"

namespace pliant::physics {

// A symmetric tensor by its components xx, yy, zz, √2 xy, √2 yz, √2 zx: products of tensors are
// those of the six.
using LaneStrain = std::array<Lane, 6>;
using LaneStrainMatrix = std::array<Lane, 36>;

// Symmetric part of RᵀA.
LaneStrain CalcSymmetricPart(const LaneMatrix3& R, const LaneMatrix3& A);

// N = ∂T/∂S of a stress P = R T that answers to F = R S: ∂P/∂F on R times symmetric tensors [Pa].
// What of the tangent answers to spin is left to geometric stiffness.
LaneStrainMatrix CalcStrainStiffness(const LaneMatrix3& R, const std::array<Lane, 81>& tangent);

// N⁻¹ with the eigenvalues of N raised to kMinStiffness of the largest. Bit l of `projected`: lane
// l needed that.
inline constexpr double kMinStiffness = 1e-3;
LaneStrainMatrix CalcStrainCompliance(const LaneStrainMatrix& N, unsigned* projected);

// The same of Hooke's law with Lamé's moduli, in closed form.
LaneStrainMatrix CalcHookeCompliance(const Lane& mu, const Lane& lambda);

}  // namespace pliant::physics
