#pragma once

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// F = U diag(s) Vᵀ of four matrices, s₁ ≥ s₂ ≥ |s₃|. U and V are rotations, so that an inverted F
// has s₃ < 0.
struct PrincipalStretches {
  LaneMatrix3 U, V;
  Lane s[3];
};

PrincipalStretches CalcPrincipalStretches(const LaneMatrix3& F);

}  // namespace pliant::physics
