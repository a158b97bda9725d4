#pragma once

#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

// Response of a solid to the linear strain ε.
struct StrainResponse {
  double energy;           // Ψ(ε) [J/m³]
  Eigen::Matrix3d stress;  // ∂Ψ/∂ε, symmetric [Pa]
  // Second derivative along δε: 2 μ δε:δε + λ tr(δε)² − softening (direction:δε)² [Pa].
  double mu, lambda;
  double softening = 0;
  Eigen::Matrix3d direction;  // symmetric; used only if softening is not 0
};

// A solid whose energy is a function of the linear strain in a lagged rotation R,
//
//   ε(H) = sym(Rᵀ (I + H) F) − I + E,   E = sym(R_pᵀ F_p) − sym(Rᵀ F_p),   F_p = (I + h C) F,
//
// R = polar(F), R_p = polar(F_p). E does not depend on H, so ε is linear in H, and the energy is
// convex in H if it is convex in ε. With E, a body that rotates as C predicts keeps its strain;
// without E (zong2024), each step adds an expansion of second order in the angle.
//
// The parameters begin with Young's modulus and Poisson's ratio.
class CorotatedMaterial : public ParticleMaterial {
 public:
  void Start(const double* p, ParticleStart* start) const final;
  void Respond(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
               ParticleTangent tangent, ParticleResponse* response) const final;
  // F ← (I + H) F, without plastic flow.
  void Advance(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
               ParticleState* end) const override;
  // Energy and stress with the rotation of the state: μ ε:ε + λ/2 tr(ε)², ε = sym(polar(F)ᵀ F) − I.
  double CalcEnergy(const double* p, const ParticleState& state) const final;
  Eigen::Matrix3d CalcStress(const double* p, const ParticleState& state) const final;
  double CalcSoundSpeed(const double* p, double density) const final;

 protected:
  virtual StrainResponse RespondToStrain(const double* p, const ParticleStart& start,
                                         const Eigen::Matrix3d& strain) const = 0;
  static Eigen::Matrix3d CalcStrain(const ParticleStart& start, const Eigen::Matrix3d& H);
  // The response to H from that to its strain. Its softening is (direction:δε)(flow:δε), and `flow`
  // is the direction or an estimate of it.
  static void Complete(const StrainResponse& of_strain, const Eigen::Matrix3d& flow,
                       const ParticleStart& start, bool with_tangent, ParticleResponse* response);
};

// F = R S with symmetric S and a rotation R, the one nearest to F if F is inverted.
struct PolarDecomposition {
  Eigen::Matrix3d R, S;
};
PolarDecomposition CalcPolarDecomposition(const Eigen::Matrix3d& F);

}  // namespace pliant::physics
