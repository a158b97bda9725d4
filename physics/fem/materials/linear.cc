// LINEAR and LINEAR_COROTATIONAL: quadratic in F once R0 is chosen. Steps recognise them by their
// kind and use the kernels of physics/fem/elements.h; this file has the same response in the form
// that all materials share.

#include "physics/fem/materials/material.h"
#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

// Ψ = μ ε:ε + λ/2 tr(ε)², ε = sym(R0ᵀ F) − I (han2023 (7)).
class LinearStrainMaterial final : public Material {
 public:
  explicit LinearStrainMaterial(bool corotates) : corotates_(corotates) {}
  std::string_view name() const override { return corotates_ ? "LINEAR_COROTATIONAL" : "LINEAR"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }
  Kind kind() const override { return corotates_ ? Kind::kLinearCorotational : Kind::kLinear; }

  void Respond(const Lane* p, const LaneMatrix3& F, Tangent tangent,
               MaterialResponse* response) const override {
    const auto [mu, lambda] = CalcLame(p);
    LaneMatrix3 R{};
    for (int i = 0; i < 3; ++i) R[4 * i] = Splat(1);
    if (corotates_) R = CalcPolarRotations(F);
    // E = sym(R0ᵀ F) − I
    const LaneMatrix3 S = CalcStretches(R, F);
    LaneMatrix3 E;
    Lane squares{};
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 3; ++r) {
        Lane& e = E[3 * c + r];
        e = 0.5 * (S[3 * c + r] + S[3 * r + c]) - (r == c ? 1.0 : 0.0);
        squares += e * e;
      }
    }
    const Lane trace = E[0] + E[4] + E[8];
    response->energy = mu * squares + 0.5 * lambda * trace * trace;
    for (Lane& e : E) e *= 2 * mu;
    for (int i = 0; i < 3; ++i) E[4 * i] += lambda * trace;
    response->stress = Product(R, E);
    if (tangent == Tangent::kNone) return;

    // ∂P_ij/∂F_kl = μ (δ_ik δ_jl + R_il R_kj) + λ R_ij R_kl: positive semi-definite (han2023,
    // Proposition 1)
    for (int l = 0; l < 3; ++l) {
      for (int k = 0; k < 3; ++k) {
        for (int j = 0; j < 3; ++j) {
          for (int i = 0; i < 3; ++i) {
            Lane& C = response->tangent[9 * (3 * l + k) + 3 * j + i];
            C = mu * R[3 * l + i] * R[3 * j + k] + lambda * R[3 * j + i] * R[3 * l + k];
            if (i == k && j == l) C += mu;
          }
        }
      }
    }
  }

 private:
  bool corotates_;
};

}  // namespace

const Material* LinearCorotationalMaterial() {
  static const LinearStrainMaterial material(true);
  return &material;
}

const Material* LinearMaterial() {
  static const LinearStrainMaterial material(false);
  return &material;
}

}  // namespace pliant::physics
