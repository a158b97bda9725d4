#pragma once

#include <array>
#include <span>
#include <string_view>

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// A number that a material takes, as scenes name it.
struct MaterialParameter {
  std::string_view name;
  std::string_view expected;  // "a positive modulus in pascals"
  double smallest, largest;   // both allowed
  double example;             // a sensible value: that of the checks which every material undergoes
};

inline constexpr int kMaxParameters = 4;

// What four elements answer to their deformation gradients.
struct MaterialResponse {
  Lane energy;                   // Ψ(F) [J/m³]
  LaneMatrix3 stress;            // first Piola–Kirchhoff, P = ∂Ψ/∂F [Pa]
  std::array<Lane, 81> tangent;  // ∂P/∂F: 9 × 9 over F column by column, symmetric [Pa]
  unsigned projected =
      0;  // bit l: that of lane l had negative eigenvalues, which Tangent::kConvex dropped
};

// Which tangent is asked for: none; the exact one; that without its negative eigenvalues; or that,
// blind to spin: it answers nothing to dF = W F with an antisymmetric W, so that damping with it
// does not hold back what merely turns.
enum class Tangent { kNone, kExact, kConvex, kDamping };

// A hyperelastic material: an energy density of the deformation gradient, with its derivatives.
// docs/extending.md describes how to add one. It may use no function of the C library beside the
// square root: their last bits differ by machine.
class Material {
 public:
  // How a step treats it. kNonlinear: Newton's method. The other two are quadratic in F once R0 is
  // chosen, and are solved as one linear system: kLinear with R0 = I, kLinearCorotational with R0 =
  // polar(F) of the step's start (han2023 §V-B).
  enum class Kind { kNonlinear, kLinear, kLinearCorotational };

  virtual ~Material() = default;
  virtual std::string_view name() const = 0;  // as in scenes: NEO_HOOKEAN
  virtual std::span<const MaterialParameter> parameters() const = 0;
  virtual Kind kind() const { return Kind::kNonlinear; }

  // `p`: the parameters, in their order. F may be inverted; what the material does not define there
  // is finite. A quadratic material answers with R0 = polar(F) or I, and with the tangent for that
  // R0 held.
  virtual void Respond(const Lane* p, const LaneMatrix3& F, Tangent tangent,
                       MaterialResponse* response) const = 0;

  // κ of a material that resists a change of volume by a term κ/2 (J − 1)² of its energy, J = det
  // F; 0: by no such term.
  virtual Lane CalcVolumetricStiffness(const Lane* /*p*/) const { return Lane{}; }

  // As Respond, of a material with such a term, for elements that resist together: κ/2 (J̄ − 1)² in
  // its place with a `mean` ratio J̄ of their volumes. The tangent is that for κ (J̄ − 1) held.
  virtual void RespondToMean(const Lane* p, const LaneMatrix3& F, const Lane& mean, Tangent tangent,
                             MaterialResponse* response) const;
};

// Young's modulus and Poisson's ratio: the parameters of many materials, and Lamé's from them.
std::span<const MaterialParameter> YoungAndPoisson();
struct Lame {
  Lane mu, lambda;  // [Pa]
};
Lame CalcLame(const Lane* young_and_poisson);

// Lamé's parameters of a material at rest, from its tangent: exact for an isotropic one.
struct RestModuli {
  double mu, lambda;
  double youngs_modulus() const { return mu * (3 * lambda + 2 * mu) / (lambda + mu); }
  double poissons_ratio() const { return lambda / (2 * (lambda + mu)); }
};
RestModuli CalcRestModuli(const Material& material, std::span<const double> parameters);

// Makes a symmetric 9 × 9 tangent positive semi-definite: negative eigenvalues become zero. For
// materials that know no quicker way. Which lanes had some beyond rounding, as
// MaterialResponse::projected.
unsigned ClampEigenvalues(std::array<Lane, 81>* tangent);
// negative eigenvalues above this, of the largest, are rounding
inline constexpr double kRoundedEigenvalue = -1e-12;

// Makes a tangent at F blind to spin, as damping wants it, and what is left positive semi-definite.
void RemoveSpin(const LaneMatrix3& F, std::array<Lane, 81>* tangent);

// All materials, in the order in which they were added.
std::span<const Material* const> AllMaterials();
// By name; null when there is none.
const Material* FindMaterial(std::string_view name);

}  // namespace pliant::physics
