#pragma once

#include "physics/fem/materials/isotropic.h"

namespace pliant::physics {

// A material with Ψ = μ/2 (F·F − 3) + U(J), J = det F. Its stress and exact tangent are polynomials
// in F, given U′ and U″, so they need no principal stretches.
class CompressibleNeoHookean : public IsotropicMaterial {
 protected:
  struct VolumeResponse {
    Lane energy;     // U(J) [J/m³]
    Lane pressure;   // U′(J) [Pa]
    Lane stiffness;  // U″(J) [Pa]
  };

  virtual Lane CalcShearModulus(const Lane* p) const = 0;  // μ [Pa]
  virtual VolumeResponse RespondToVolume(const Lane* p, const Lane& J) const = 0;

  void RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean, Tangent tangent,
                 MaterialResponse* response) const final;
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const final;
};

}  // namespace pliant::physics
