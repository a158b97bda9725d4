#pragma once

#include <array>
#include <span>
#include <string_view>

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// A parameter of a material, as named in scenes.
struct MaterialParameter {
  std::string_view name;
  std::string_view expected;  // "a positive modulus in pascals"
  double smallest, largest;   // inclusive
  double example;             // a sensible value, used by the checks that every material undergoes
};

inline constexpr int kMaxParameters = 4;

// Response of four elements to their deformation gradients.
struct MaterialResponse {
  Lane energy;                   // Ψ(F) [J/m³]
  LaneMatrix3 stress;            // first Piola–Kirchhoff, P = ∂Ψ/∂F [Pa]
  std::array<Lane, 81> tangent;  // ∂P/∂F: 9 × 9 over F column by column, symmetric [Pa]
  unsigned projected = 0;        // bit l: negative eigenvalues of lane l were replaced
};

// Requested tangent.
enum class Tangent {
  kNone,
  kExact,
  // without its negative eigenvalues
  kConvex,
  // With the absolute values of its eigenvalues. Far from a solution, where many are negative,
  // Newton's method takes fewer iterations with it (Chen et al. 2024, Stabler Neo-Hookean
  // Simulation), and more near one.
  kAbsolute,
  // kConvex with spin removed, so that dF = W F with antisymmetric W gives no stress and damping
  // does not resist rotation
  kDamping,
};
// Whether negative eigenvalues are replaced, for which principal stretches are needed.
inline bool IsProjected(Tangent tangent) {
  return tangent != Tangent::kNone && tangent != Tangent::kExact;
}

// A hyperelastic material: an energy density of the deformation gradient, with its derivatives.
// docs/extending.md describes how to add one. It may use no function of the C library except the
// square root: their last bits differ between machines.
class Material {
 public:
  // Treatment in a step. kNonlinear: Newton's method. The other two are quadratic in F once R0 is
  // chosen, and are solved as one linear system: kLinear with R0 = I, kLinearCorotational with R0 =
  // polar(F) at the start of the step (han2023 §V-B).
  enum class Kind { kNonlinear, kLinear, kLinearCorotational };

  virtual ~Material() = default;
  virtual std::string_view name() const = 0;  // as in scenes: NEO_HOOKEAN
  virtual std::span<const MaterialParameter> parameters() const = 0;
  virtual Kind kind() const { return Kind::kNonlinear; }

  // `p`: the parameters, in the order of parameters(). F may be inverted; the response must be
  // finite there too. A quadratic material uses R0 = polar(F) or I, and its tangent is for fixed
  // R0.
  virtual void Respond(const Lane* p, const LaneMatrix3& F, Tangent tangent,
                       MaterialResponse* response) const = 0;

  // κ of the volumetric term κ/2 (J − 1)² in the energy, J = det F; 0: no such term.
  virtual Lane CalcVolumetricStiffness(const Lane* /*p*/) const { return Lane{}; }

  // As Respond, with the volumetric term replaced by κ/2 (J̄ − 1)², where `mean` is the mean volume
  // ratio J̄ of a patch of elements. The tangent is for fixed κ (J̄ − 1).
  virtual void RespondToMean(const Lane* p, const LaneMatrix3& F, const Lane& mean, Tangent tangent,
                             MaterialResponse* response) const;
};

// Young's modulus and Poisson's ratio, the parameters of many materials, and Lamé's from them.
std::span<const MaterialParameter> YoungAndPoisson();
struct Lame {
  Lane mu, lambda;  // [Pa]
};
Lame CalcLame(const Lane* young_and_poisson);
// Lamé's parameters of a material at rest, from its tangent: exact for an isotropic one.
Lame CalcRestLame(const Material& material, const Lane* parameters);

// As CalcRestLame, for a single element.
struct RestModuli {
  double mu, lambda;
  double youngs_modulus() const { return mu * (3 * lambda + 2 * mu) / (lambda + mu); }
  double poissons_ratio() const { return lambda / (2 * (lambda + mu)); }
};
RestModuli CalcRestModuli(const Material& material, std::span<const double> parameters);

// Makes a symmetric 9 × 9 tangent positive semi-definite: replaces negative eigenvalues by zero, or
// by their absolute values for Tangent::kAbsolute. For materials without a faster method. Returns
// the lanes that had negative eigenvalues beyond rounding, as MaterialResponse::projected.
unsigned ProjectEigenvalues(Tangent kind, std::array<Lane, 81>* tangent);
// Returns what ProjectEigenvalues puts in the place of an eigenvalue.
inline double ProjectEigenvalue(Tangent kind, double x) {
  return x >= 0 ? x : kind == Tangent::kAbsolute ? -x : 0;
}
// negative eigenvalues above this, relative to the largest, are rounding
inline constexpr double kRoundedEigenvalue = -1e-12;

// Removes spin from a tangent at F, for damping, and makes the rest positive semi-definite.
void RemoveSpin(const LaneMatrix3& F, std::array<Lane, 81>* tangent);

// All materials, in the order in which they were added.
std::span<const Material* const> AllMaterials();
// Finds a material by name; null when there is none.
const Material* FindMaterial(std::string_view name);
// COROTATIONAL: the energy of LINEAR_COROTATIONAL with the element's current rotation.
const Material* CorotationalMaterial();

}  // namespace pliant::physics
