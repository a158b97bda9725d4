#include "physics/fem/materials/isotropic.h"

namespace pliant::physics {
namespace {

// Ψ = μ E:E + λ/2 tr(E)², E = ½ (FᵀF − I). Weak in strong compression: an element may be flattened
// and stay inverted.
class StVenantKirchhoff final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "ST_VENANT_KIRCHHOFF"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const override {
    const auto [mu, lambda] = CalcLame(p);
    Lane E[3];
    for (int i = 0; i < 3; ++i) E[i] = 0.5 * (s[i] * s[i] - 1);
    const Lane trace = E[0] + E[1] + E[2];
    r->energy = mu * (E[0] * E[0] + E[1] * E[1] + E[2] * E[2]) + 0.5 * lambda * trace * trace;
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const Lane second = 2 * mu * E[k] + lambda * trace;  // second Piola–Kirchhoff stress
      r->stress[k] = s[k] * second;
      r->stiffness[k][k] = second + (2 * mu + lambda) * s[k] * s[k];
      r->stiffness[i][j] = r->stiffness[j][i] = lambda * s[i] * s[j];
      const Lane both = mu * (s[i] * s[i] + s[j] * s[j] - 1) + lambda * trace;
      r->shear[k] = both + mu * s[i] * s[j];
      r->spin[k] = both - mu * s[i] * s[j];
    }
  }
};

}  // namespace

const Material* StVenantKirchhoffMaterial() {
  static const StVenantKirchhoff material;
  return &material;
}

}  // namespace pliant::physics
