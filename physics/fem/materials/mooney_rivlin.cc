#include "physics/fem/materials/isotropic.h"

namespace pliant::physics {
namespace {

constexpr MaterialParameter kMooneyRivlinParameters[] = {
    {"c1", "a positive modulus in pascals. That of a rubber is about 3e5", 1e-6, 1e15, 3e4},
    {"c2", "a modulus in pascals, not negative. That of a rubber is about 2e5", 0, 1e15, 1.5e4},
    {"bulk_modulus", "a positive modulus in pascals. That of a rubber is about 1e9", 1e-6, 1e15,
     3e5},
};

// Ψ = c₁ (I − 3) + c₂ (II − 3) + κ/2 (J − α)² − const with the invariants I, II of FᵀF and J = det
// F. α = 1 + (2 c₁ + 4 c₂)/κ makes F = I the rest state, κ = bulk_modulus + ⅔ c₁ − 4/3 c₂ yields
// the given bulk modulus, and 2 (c₁ + c₂) is the shear modulus. The energy is polynomial, so
// inverted elements recover.
class MooneyRivlin final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "MOONEY_RIVLIN"; }
  std::span<const MaterialParameter> parameters() const override { return kMooneyRivlinParameters; }
  Lane CalcVolumetricStiffness(const Lane* p) const override {
    return p[2] + (2.0 / 3) * p[0] - (4.0 / 3) * p[1];
  }

 protected:
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const override {
    const Lane c1 = p[0], c2 = p[1];
    const Lane kappa = CalcVolumetricStiffness(p);
    const Lane rest = 2 * c1 + 4 * c2;  // κ (α − 1)
    const Lane J = s[0] * s[1] * s[2];
    const Lane pressure = kappa * (J - 1) - rest;
    const Lane square[3] = {s[0] * s[0], s[1] * s[1], s[2] * s[2]};
    const Lane cofactor[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
    const Lane first = square[0] + square[1] + square[2];
    const Lane second =
        cofactor[0] * cofactor[0] + cofactor[1] * cofactor[1] + cofactor[2] * cofactor[2];
    r->energy =
        c1 * (first - 3) + c2 * (second - 3) + 0.5 * kappa * (J - 1) * (J - 1) - rest * (J - 1);
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const Lane others = first - square[k];
      r->stress[k] = 2 * s[k] * (c1 + c2 * others) + pressure * cofactor[k];
      r->stiffness[k][k] = 2 * (c1 + c2 * others) + kappa * cofactor[k] * cofactor[k];
      r->stiffness[i][j] = r->stiffness[j][i] =
          4 * c2 * s[i] * s[j] + kappa * cofactor[i] * cofactor[j] + pressure * s[k];
      r->shear[k] = 2 * c1 + 2 * c2 * (square[k] - s[i] * s[j]) - pressure * s[k];
      r->spin[k] = 2 * c1 + 2 * c2 * (square[k] + s[i] * s[j]) + pressure * s[k];
    }
  }
};

}  // namespace

const Material* MooneyRivlinMaterial() {
  static const MooneyRivlin material;
  return &material;
}

}  // namespace pliant::physics
