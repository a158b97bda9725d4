#pragma once

#include <array>
#include <span>
#include <string_view>

#include <Eigen/Core>

namespace pliant::physics {

// A parameter of a particle material, as named in scenes.
struct ParticleParameter {
  std::string_view name;
  std::string_view expected;  // "a positive modulus in pascals"
  double smallest, largest;   // inclusive
  double fallback;            // where a scene gives none; NaN: it must give one
};

inline constexpr int kMaxParticleParameters = 6;

// State of the material at one particle.
struct ParticleState {
  Eigen::Matrix3d C = Eigen::Matrix3d::Zero();      // affine velocity field around it [1/s]
  Eigen::Matrix3d F = Eigen::Matrix3d::Identity();  // elastic deformation gradient; of solids
  double J = 1;                                     // volume ratio; of liquids
  double plastic_strain = 0;                        // equivalent, accumulated
};

// What stays constant at a particle during a step: the state at its start, and what the material
// derives from it.
struct ParticleStart {
  ParticleState state;
  double h = 0;  // [s]
  // Whether the corrections to zong2024 apply (docs/methods.md, "Material points").
  bool is_corrected = true;
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();  // lagged rotation, polar(F)
  Eigen::Matrix3d E = Eigen::Matrix3d::Zero();      // correction of the strain for rotation
  double J_offset = 0;  // second-order change of the volume ratio, relative to J
};

// Response of a particle to H = h ∇v, the displacement gradient of the step.
struct ParticleResponse {
  double energy = 0;                                 // Ψ(H) [J/m³], per volume at rest
  Eigen::Matrix3d stress = Eigen::Matrix3d::Zero();  // ∂Ψ/∂H [Pa]
  Eigen::Matrix<double, 9, 9> tangent;               // ∂²Ψ/∂H², H column by column [Pa]
};

// A material of particles: an energy density of the displacement gradient of a step, convex where
// `is_convex`, and a law by which the state advances. One file each; registered in
// particle_material.cc.
class ParticleMaterial {
 public:
  virtual ~ParticleMaterial() = default;
  virtual std::string_view name() const = 0;  // as in scenes: VON_MISES
  virtual std::span<const ParticleParameter> parameters() const = 0;
  // Whether the energy is quadratic in H, so that a step is solved as one linear system.
  virtual bool is_quadratic(bool /*is_corrected*/) const { return false; }
  // Whether it keeps a volume ratio and no deformation gradient.
  virtual bool is_liquid() const { return false; }

  // Fills R, E and J_offset from the rest.
  virtual void Start(const double* p, ParticleStart* start) const = 0;
  // The tangent is without negative eigenvalues; it is computed only where `with_tangent`.
  virtual void Respond(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
                       bool with_tangent, ParticleResponse* response) const = 0;
  // State at the end of the step, of which `C` is set by the caller.
  virtual void Advance(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
                       ParticleState* end) const = 0;
  // Elastic energy per volume at rest [J/m³] and Cauchy's stress [Pa] in a state.
  virtual double CalcEnergy(const double* p, const ParticleState& state) const = 0;
  virtual Eigen::Matrix3d CalcStress(const double* p, const ParticleState& state) const = 0;
  // Speed of sound of compression in a body of this density [m/s], for checks.
  virtual double CalcSoundSpeed(const double* p, double density) const = 0;
};

std::span<const ParticleMaterial* const> AllParticleMaterials();
// Null when there is none of that name.
const ParticleMaterial* FindParticleMaterial(std::string_view name);

}  // namespace pliant::physics
