#include "physics/fem/materials/isotropic.h"

namespace pliant::physics {
namespace {

// Stable neo-Hookean material without the logarithm: Ψ = μ/2 (s·s − 3) + (λ + μ)/2 (J − α)² −
// const, J = s₁ s₂ s₃. α = 1 + μ/(λ + μ) makes F = I the rest state, with Lamé's moduli there. The
// energy is polynomial, so inverted elements recover.
class NeoHookean final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "NEO_HOOKEAN"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }
  Lane CalcVolumetricStiffness(const Lane* p) const override {
    const auto [mu, lambda] = CalcLame(p);
    return lambda + mu;
  }

 protected:
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const override {
    const auto [mu, lambda] = CalcLame(p);
    const Lane D = lambda + mu, rest = mu / D;
    const Lane J = s[0] * s[1] * s[2];
    const Lane pressure = D * (J - 1 - rest);
    r->energy = 0.5 * mu * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3) +
                0.5 * D * ((J - 1) * (J - 1) - 2 * rest * (J - 1));
    DifferentiateNeoHookean(mu, pressure, D, s, r);
  }
};

}  // namespace

const Material* NeoHookeanMaterial() {
  static const NeoHookean material;
  return &material;
}

}  // namespace pliant::physics
