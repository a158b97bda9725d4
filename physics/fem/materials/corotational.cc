#include "physics/fem/materials/isotropic.h"

namespace pliant::physics {
namespace {

// Ψ = μ Σ(s_i − 1)² + λ/2 (Σ s_i − 3)²: the linear corotational energy with the current rotation
// (reference [21] of han2023 §VII-E). Its tangent is singular where two stretches sum to zero, and
// indefinite in compression.
class Corotational final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "COROTATIONAL"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const override {
    const auto [mu, lambda] = CalcLame(p);
    const Lane e[3] = {s[0] - 1, s[1] - 1, s[2] - 1};
    const Lane trace = e[0] + e[1] + e[2];
    r->energy = mu * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) + 0.5 * lambda * trace * trace;
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      r->stress[k] = 2 * mu * e[k] + lambda * trace;
      r->stiffness[k][k] = 2 * mu + lambda;
      r->stiffness[i][j] = r->stiffness[j][i] = lambda;
      r->shear[k] = 2 * mu;
      // stay finite where the rotation is undefined
      const Lane sum = s[i] + s[j] < 1e-6 ? Splat(1e-6) : s[i] + s[j];
      r->spin[k] = 2 * mu + (2 * lambda * trace - 4 * mu) / sum;
    }
  }
};

}  // namespace

const Material* CorotationalMaterial() {
  static const Corotational material;
  return &material;
}

}  // namespace pliant::physics
