#include "physics/fem/materials/compressible_neo_hookean.h"

namespace pliant::physics {
namespace {

// Stable neo-Hookean material without the logarithm: Ψ = μ/2 (F·F − 3) + (λ + μ)/2 (J − α)² −
// const. α = 1 + μ/(λ + μ) makes F = I the rest state, with Lamé's moduli there. The energy is
// polynomial, so inverted elements recover.
class NeoHookean final : public CompressibleNeoHookean {
 public:
  std::string_view name() const override { return "NEO_HOOKEAN"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }
  Lane CalcVolumetricStiffness(const Lane* p) const override {
    const auto [mu, lambda] = CalcLame(p);
    return lambda + mu;
  }

 protected:
  Lane CalcShearModulus(const Lane* p) const override { return CalcLame(p).mu; }
  VolumeResponse RespondToVolume(const Lane* p, const Lane& J) const override {
    const auto [mu, lambda] = CalcLame(p);
    const Lane D = lambda + mu, rest = mu / D;
    return {0.5 * D * ((J - 1) * (J - 1) - 2 * rest * (J - 1)), D * (J - 1 - rest), D};
  }
};

}  // namespace

const Material* NeoHookeanMaterial() {
  static const NeoHookean material;
  return &material;
}

}  // namespace pliant::physics
