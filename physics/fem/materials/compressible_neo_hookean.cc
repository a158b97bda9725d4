#include "physics/fem/materials/compressible_neo_hookean.h"

namespace pliant::physics {
namespace {

// Computes μ I + D c cᵀ + p ∂c/∂F over F column by column, c = ∂J/∂F.
void CalcTangent(const Lane& mu, const Lane& pressure, const Lane& D, const LaneMatrix3& F,
                 const LaneMatrix3& cofactors, std::array<Lane, 81>* T) {
  for (int c = 0; c < 9; ++c) {
    const Lane scaled = D * cofactors[c];
    for (int r = c; r < 9; ++r) (*T)[9 * c + r] = scaled * cofactors[r];
    (*T)[9 * c + c] += mu;
  }
  // With columns f of F, c = (f₁ × f₂, f₂ × f₀, f₀ × f₁), so the blocks of ∂c/∂F below its diagonal
  // are [f₂]×, −[f₁]× and [f₀]×.
  const auto add_cross = [&](int row, int column, int of, double sign) {
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const Lane entry = sign * pressure * F[3 * of + k];
      (*T)[9 * (3 * column + i) + 3 * row + j] += entry;
      (*T)[9 * (3 * column + j) + 3 * row + i] -= entry;
    }
  };
  add_cross(1, 0, 2, 1);
  add_cross(2, 0, 1, -1);
  add_cross(2, 1, 0, 1);
  for (int c = 0; c < 9; ++c) {
    for (int r = 0; r < c; ++r) (*T)[9 * c + r] = (*T)[9 * r + c];
  }
}

}  // namespace

void CompressibleNeoHookean::RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean,
                                       Tangent tangent, MaterialResponse* response) const {
  // negative eigenvalues and spin are found in the principal stretches
  if (IsProjected(tangent)) return IsotropicMaterial::RespondTo(p, F, mean, tangent, response);
  const LaneMatrix3 cofactors = CalcCofactors(F);
  const Lane J = F[0] * cofactors[0] + F[1] * cofactors[1] + F[2] * cofactors[2];
  const Lane mu = CalcShearModulus(p);
  VolumeResponse volume = RespondToVolume(p, J);
  if (mean != nullptr) {
    // κ/2 (J̄ − 1)² replaces κ/2 (J − 1)²
    const Lane kappa = CalcVolumetricStiffness(p);
    volume.energy += 0.5 * kappa * ((*mean - 1) * (*mean - 1) - (J - 1) * (J - 1));
    volume.pressure += kappa * (*mean - J);
    volume.stiffness -= kappa;
  }
  Lane square = F[0] * F[0];
  for (int i = 1; i < 9; ++i) square += F[i] * F[i];
  response->energy = 0.5 * mu * (square - 3) + volume.energy;
  for (int i = 0; i < 9; ++i) response->stress[i] = mu * F[i] + volume.pressure * cofactors[i];
  if (tangent == Tangent::kExact)
    CalcTangent(mu, volume.pressure, volume.stiffness, F, cofactors, &response->tangent);
}

void CompressibleNeoHookean::RespondToStretches(const Lane* p, const Lane s[3],
                                                PrincipalResponse* r) const {
  const Lane mu = CalcShearModulus(p);
  const auto [energy, pressure, D] = RespondToVolume(p, s[0] * s[1] * s[2]);
  r->energy = 0.5 * mu * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3) + energy;
  const Lane cofactor[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    r->stress[k] = mu * s[k] + pressure * cofactor[k];
    r->stiffness[k][k] = mu + D * cofactor[k] * cofactor[k];
    r->stiffness[i][j] = r->stiffness[j][i] = D * cofactor[i] * cofactor[j] + pressure * s[k];
    r->shear[k] = mu - pressure * s[k];
    r->spin[k] = mu + pressure * s[k];
  }
}

}  // namespace pliant::physics
