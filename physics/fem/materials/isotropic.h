#pragma once

#include "physics/fem/materials/material.h"

namespace pliant::physics {

// What an isotropic material answers to its principal stretches s; the third one of an inverted
// element is negative.
struct PrincipalResponse {
  Lane energy;           // Ψ(s) [J/m³]
  Lane stress[3];        // g_i = ∂Ψ/∂s_i [Pa]
  Lane stiffness[3][3];  // ∂²Ψ/∂s_i∂s_j [Pa]
  // Of the pair (i, j) that k is not part of: (g_i − g_j)/(s_i − s_j) and (g_i + g_j)/(s_i + s_j),
  // the eigenvalues of the tangent for shear and for spin in the plane of i and j [Pa].
  Lane shear[3], spin[3];
};

// A material that is given by its energy in the principal stretches: F = U diag(s) Vᵀ, P = U
// diag(g) Vᵀ, and a tangent whose eigenvectors are known, so that the negative eigenvalues are cut
// off without an eigenvalue problem of size nine.
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
  // Fills in all of the response.
  virtual void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const = 0;

  // `shear` and `spin` from stress and stiffness, for a material without a closed form of them:
  // exact but for rounding where the stretches differ, to 1e-9 where they nearly coincide.
  static void DividePairs(const Lane s[3], PrincipalResponse* r);

 private:
  // `mean`: null, or J̄
  void RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean, Tangent tangent,
                 MaterialResponse* response) const;
};

}  // namespace pliant::physics
