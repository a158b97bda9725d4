#include "physics/fem/materials/isotropic.h"
#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

// The derivative of the rotation is computed without principal stretches only where the determinant
// of tr(S) I − S is larger than this, relative to the cube of its mean diagonal entry.
constexpr double kMinDeterminant = 1e-6;

// Adds k ∂R/∂F, R = polar(F), to the lower triangle of a 9 × 9 matrix over F column by column.
// Returns false where an element is so flat that its rotation is nearly undefined. `S` is Rᵀ F. A
// change dF turns R by R [ω]× with (tr(S) I − S) ω = axial(Rᵀ dF − dFᵀ R), so ∂R/∂F is Bᵀ (tr(S) I
// − S)⁻¹ B with the matrix B of this axial vector.
bool AddRotationTangent(const Lane& k, const LaneMatrix3& R, const LaneMatrix3& S,
                        std::array<Lane, 81>* T) {
  const Lane trace = S[0] + S[4] + S[8];
  LaneMatrix3 G;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r)
      G[3 * c + r] = (r == c ? trace : Lane{}) - 0.5 * (S[3 * c + r] + S[3 * r + c]);
  }
  const LaneMatrix3 cofactors = CalcCofactors(G);
  const Lane determinant = G[0] * cofactors[0] + G[1] * cofactors[1] + G[2] * cofactors[2];
  const Lane size = 2.0 / 3 * trace;
  if (!All((trace > 0) & (determinant > kMinDeterminant * size * size * size))) return false;
  // row a of B is that of axis a: column i of R at column j of F, minus column j at column i
  Lane B[3][9] = {}, HB[3][9];
  for (int a = 0; a < 3; ++a) {
    const int i = (a + 1) % 3, j = (a + 2) % 3;
    for (int r = 0; r < 3; ++r) {
      B[a][3 * i + r] = R[3 * j + r];
      B[a][3 * j + r] = -R[3 * i + r];
    }
  }
  const Lane scale = k / determinant;
  for (int a = 0; a < 3; ++a) {
    for (int c = 0; c < 9; ++c)
      HB[a][c] = scale *
                 (cofactors[a] * B[0][c] + cofactors[3 + a] * B[1][c] + cofactors[6 + a] * B[2][c]);
  }
  for (int c = 0; c < 9; ++c) {
    for (int r = c; r < 9; ++r)
      (*T)[9 * c + r] += B[0][r] * HB[0][c] + B[1][r] * HB[1][c] + B[2][r] * HB[2][c];
  }
  return true;
}

// Ψ = μ Σ(s_i − 1)² + λ/2 (Σ s_i − 3)²: the linear corotational energy with the current rotation
// (reference [21] of han2023 §VII-E). Its tangent is singular where two stretches sum to zero, and
// indefinite in compression.
class Corotational final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "COROTATIONAL"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  // From the rotation R = polar(F), which takes less time than principal stretches: P = 2μ (F − R)
  // + λ tr(RᵀF − I) R.
  void RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean, Tangent tangent,
                 MaterialResponse* response) const override {
    // negative eigenvalues and spin are found in the principal stretches
    if (IsProjected(tangent)) return IsotropicMaterial::RespondTo(p, F, mean, tangent, response);
    const auto [mu, lambda] = CalcLame(p);
    const LaneMatrix3 R = CalcPolarRotations(F);
    const LaneMatrix3 S = CalcStretches(R, F);
    const Lane trace = S[0] + S[4] + S[8] - 3;
    Lane squares{};
    for (int i = 0; i < 9; ++i) {
      const Lane e = F[i] - R[i];
      squares += e * e;
      response->stress[i] = 2 * mu * e + lambda * trace * R[i];
    }
    response->energy = mu * squares + 0.5 * lambda * trace * trace;
    if (tangent == Tangent::kNone) return;

    std::array<Lane, 81>& T = response->tangent;
    for (int c = 0; c < 9; ++c) {
      for (int r = c; r < 9; ++r) T[9 * c + r] = lambda * R[r] * R[c];
      T[9 * c + c] += 2 * mu;
    }
    if (!AddRotationTangent(lambda * trace - 2 * mu, R, S, &T))
      return IsotropicMaterial::RespondTo(p, F, mean, tangent, response);
    for (int c = 0; c < 9; ++c) {
      for (int r = 0; r < c; ++r) T[9 * c + r] = T[9 * r + c];
    }
  }

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
