#pragma once

#include <limits>
#include <span>
#include <string_view>

#include <Eigen/Core>

namespace pliant::physics {

// A parameter of a particle material, as named in scenes.
struct ParticleParameter {
  std::string_view name;
  std::string_view expected;  // "a positive modulus in pascals"
  double smallest, largest;   // inclusive
  double example;             // a sensible value, for the tests that run on every material
  // Value if the scene gives none; NaN: the scene must give one.
  double fallback = std::numeric_limits<double>::quiet_NaN();
  bool is_integer = false;
};

inline constexpr int kMaxParticleParameters = 6;

// State of the material at one particle.
struct ParticleState {
  Eigen::Matrix3d C = Eigen::Matrix3d::Zero();      // affine velocity field around it [1/s]
  Eigen::Matrix3d F = Eigen::Matrix3d::Identity();  // elastic deformation gradient; of solids
  double J = 1;                                     // volume ratio; of liquids
  double plastic_strain = 0;                        // equivalent, accumulated
};

// Constants of a particle during a step: the state at its start, and quantities that the material
// derives from it.
struct ParticleStart {
  ParticleState state;
  double h = 0;  // [s]
  // Whether the corrections to zong2024 apply (docs/methods.md, "Material points").
  bool is_corrected = true;
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();  // lagged rotation, polar(F)
  // Strain at H = 0: sym(Rᵀ F) − I plus the correction for rotation.
  Eigen::Matrix3d strain = Eigen::Matrix3d::Zero();
  double J_offset = 0;   // second-order change of the volume ratio, relative to J
  double viscosity = 0;  // of a liquid, beside that of its material [Pa s]
};

// Requested tangent of a particle. Negative eigenvalues become zero in kConvex, and positive in
// kAbsolute. The two are the same where the energy is convex.
enum class ParticleTangent { kNone, kConvex, kAbsolute };

// Response of a particle to H = h ∇v, the displacement gradient of the step.
struct ParticleResponse {
  double energy = 0;                                 // Ψ(H) [J/m³], per volume at rest
  Eigen::Matrix3d stress = Eigen::Matrix3d::Zero();  // ∂Ψ/∂H [Pa]
  Eigen::Matrix<double, 9, 9> tangent;               // ∂²Ψ/∂H², H column by column [Pa]
  bool is_projected = false;                         // negative eigenvalues were replaced
};

// Energy per volume at rest as a function of the dilation tr H, and its derivatives [Pa].
struct DilationResponse {
  double energy = 0, slope = 0, curvature = 0;
};

// A material of particles: an energy density as a function of the step's displacement gradient, and
// an update of the state. docs/extending.md describes how to add one. It may use no function of the
// C library except the square root, since their last bits differ between machines.
class ParticleMaterial {
 public:
  virtual ~ParticleMaterial() = default;
  virtual std::string_view name() const = 0;  // as in scenes: VON_MISES
  virtual std::span<const ParticleParameter> parameters() const = 0;
  // Whether the energy is convex in H, so that a step has one solution. If not, the tangent is
  // projected onto the positive semi-definite matrices.
  virtual bool is_convex() const { return true; }
  // Whether the energy is quadratic in H, so that a step is solved as one linear system. Without
  // the corrections, plasticity acts only after the step.
  virtual bool is_quadratic(bool /*is_corrected*/) const { return false; }
  // Whether the state is a volume ratio, without a deformation gradient.
  virtual bool is_liquid() const { return false; }

  // `p`: the parameters, in the order of parameters(). Derives R, strain and J_offset from the
  // rest, as far as the material uses them.
  virtual void Start(const double* p, ParticleStart* start) const = 0;
  // The response is finite for any H, even if I + H is inverted.
  virtual void Respond(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
                       ParticleTangent tangent, ParticleResponse* response) const = 0;
  // The response without a tangent, and the second derivative of the energy along the line H + t D
  // [Pa], which may be negative.
  virtual double RespondOnLine(const double* p, const ParticleStart& start,
                               const Eigen::Matrix3d& H, const Eigen::Matrix3d& D,
                               ParticleResponse* response) const;
  // Whether the energy is known to be one quadratic function of H between two points, so that they
  // have the same tangent.
  virtual bool IsQuadraticBetween(const double* /*p*/, const ParticleStart& /*start*/,
                                  const Eigen::Matrix3d& /*H0*/,
                                  const Eigen::Matrix3d& /*H1*/) const {
    return false;
  }
  // Whether the energy is RespondToDilation plus a quadratic function of H. If so, iterations of a
  // step evaluate only the former.
  virtual bool is_quadratic_but_for_dilation() const { return false; }
  virtual DilationResponse RespondToDilation(const double* /*p*/, const ParticleStart& /*start*/,
                                             double /*dilation*/) const {
    return {};
  }
  // Whether particles yield, so that their flow has a direction: a symmetric deviator of norm ≤ 1,
  // here estimated as `flow`.
  virtual bool yields() const { return false; }
  // The response, with a tangent for this estimate. Where it is that of the flow at H, the tangent
  // is that of Respond.
  virtual void RespondAlongFlow(const double* p, const ParticleStart& start,
                                const Eigen::Matrix3d& H, const Eigen::Matrix3d& /*flow*/,
                                ParticleResponse* response) const {
    Respond(p, start, H, ParticleTangent::kConvex, response);
  }
  // Newton's update of the estimate for a step from H by `change`.
  virtual void AdvanceFlow(const double* /*p*/, const ParticleStart& /*start*/,
                           const Eigen::Matrix3d& /*H*/, const Eigen::Matrix3d& /*change*/,
                           Eigen::Matrix3d* /*flow*/) const {}
  // State at the end of the step, of which `C` is set by the caller.
  virtual void Advance(const double* p, const ParticleStart& start, const Eigen::Matrix3d& H,
                       ParticleState* end) const = 0;
  // Elastic energy per volume at rest [J/m³] and Cauchy's stress [Pa] in a state.
  virtual double CalcEnergy(const double* p, const ParticleState& state) const = 0;
  virtual Eigen::Matrix3d CalcStress(const double* p, const ParticleState& state) const = 0;
  // Speed of compression waves in a body of this density [kg/m³], for checks [m/s].
  virtual double CalcSoundSpeed(const double* p, double density) const = 0;
};

// All particle materials, in the order in which they were added.
std::span<const ParticleMaterial* const> AllParticleMaterials();
// Null when there is none of that name.
const ParticleMaterial* FindParticleMaterial(std::string_view name);

}  // namespace pliant::physics
