#pragma once

#include "physics/fem/materials/material.h"

namespace pliant::physics {

// Response of an isotropic material to its principal stretches s; the third is negative when the
// element is inverted.
struct PrincipalResponse {
  Lane energy;           // Ψ(s) [J/m³]
  Lane stress[3];        // g_i = ∂Ψ/∂s_i [Pa]
  Lane stiffness[3][3];  // ∂²Ψ/∂s_i∂s_j [Pa]
  // Entry k is for the pair (i, j) of the other two axes: (g_i − g_j)/(s_i − s_j) and (g_i +
  // g_j)/(s_i + s_j), the tangent's eigenvalues for shear and for spin in the plane of i and j
  // [Pa].
  Lane shear[3], spin[3];
};

// A material defined by its energy in the principal stretches: F = U diag(s) Vᵀ, P = U diag(g) Vᵀ.
// The eigenvectors of its tangent are known, so negative eigenvalues are dropped without a 9 × 9
// eigenvalue problem.
class IsotropicMaterial : public Material {
 public:
  void Respond(const Lane* p, const LaneMatrix3& F, Tangent tangent,
               MaterialResponse* response) const final {
    RespondTo(p, F, nullptr, tangent, response);
  }
  void RespondToMean(const Lane* p, const LaneMatrix3& F, const Lane& mean, Tangent tangent,
                     MaterialResponse* response) const final {
    RespondTo(p, F, &mean, tangent, response);
  }

 protected:
  // Fills in every field of the response.
  virtual void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const = 0;

  // Computes `shear` and `spin` from stress and stiffness, for a material without a closed form for
  // them: exact up to rounding where the stretches differ, to 1e-9 where they nearly coincide.
  static void DividePairs(const Lane s[3], PrincipalResponse* r);

  // `mean`: null, or J̄
  virtual void RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean, Tangent tangent,
                         MaterialResponse* response) const;
};

}  // namespace pliant::physics
