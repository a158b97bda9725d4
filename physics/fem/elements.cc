#include "physics/fem/elements.h"

#include <algorithm>

#include <Eigen/LU>

namespace pliant::physics {
namespace {

// ε = sym(R0ᵀ F) − I, or without −I; column-major, symmetric
LaneMatrix Strain(const LaneMatrix& R0, const LaneMatrix& F, bool increment) {
  LaneMatrix S;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      S[3 * c + r] =
          R0[3 * r] * F[3 * c] + R0[3 * r + 1] * F[3 * c + 1] + R0[3 * r + 2] * F[3 * c + 2];
    }
  }
  LaneMatrix E;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) E[3 * c + r] = 0.5 * (S[3 * c + r] + S[3 * r + c]);
    if (!increment) E[4 * c] -= 1.0;
  }
  return E;
}

}  // namespace

std::vector<ElementBatch> MakeElementBatches(const FemParameters& parameters) {
  const auto& mesh = parameters.mesh;
  const int count = static_cast<int>(mesh.tetrahedra.size());
  std::vector<ElementBatch> batches((count + kLanes - 1) / kLanes);
  for (int slot = 0; slot < static_cast<int>(batches.size()) * kLanes; ++slot) {
    const int element = std::min(slot, count - 1);
    const int lane = slot % kLanes;
    ElementBatch& batch = batches[slot / kLanes];
    const std::array<int, 4>& nodes = mesh.tetrahedra[element];
    batch.nodes[lane] = nodes;

    Eigen::Matrix3d D;
    for (int a = 0; a < 3; ++a) D.col(a) = mesh.vertices[nodes[a + 1]] - mesh.vertices[nodes[0]];
    const Eigen::Matrix3d gradients = D.inverse();  // row a: gradient of node a + 1
    for (int i = 0; i < 3; ++i) {
      for (int a = 0; a < 3; ++a) batch.gradients[a + 1][i][lane] = gradients(a, i);
      batch.gradients[0][i][lane] = -(gradients(0, i) + gradients(1, i) + gradients(2, i));
    }
    // a repeated element fills its lane without weight
    batch.volume[lane] = slot < count ? D.determinant() / 6 : 0;

    const int index =
        parameters.element_material.empty() ? 0 : parameters.element_material[element];
    const FemMaterial& material = parameters.materials[index];
    const double E = material.youngs_modulus, nu = material.poissons_ratio;
    batch.density[lane] = material.density;
    batch.lame_mu[lane] = E / (2 * (1 + nu));
    batch.lame_lambda[lane] = E * nu / ((1 + nu) * (1 - 2 * nu));
    batch.corotates[lane] = material.model == FemMaterial::Model::kLinear ? 0 : 1;
  }
  return batches;
}

LaneMatrix CalcGradient(const ElementBatch& batch, std::span<const double> x) {
  LaneMatrix F{};
  for (int a = 0; a < 4; ++a) {
    const double* n[kLanes];
    for (int l = 0; l < kLanes; ++l) n[l] = &x[3 * batch.nodes[l][a]];
    for (int r = 0; r < 3; ++r) {
      const Lane p = {n[0][r], n[1][r], n[2][r], n[3][r]};
      for (int c = 0; c < 3; ++c) F[3 * c + r] += p * batch.gradients[a][c];
    }
  }
  return F;
}

LaneMatrix CalcReferenceRotation(const ElementBatch& batch, const LaneMatrix& F) {
  LaneMatrix R = CalcPolarRotations(F);
  for (int i = 0; i < 9; ++i) {
    const double identity = i % 4 == 0 ? 1.0 : 0.0;
    for (int l = 0; l < kLanes; ++l) R[i][l] = batch.corotates[l] != 0 ? R[i][l] : identity;
  }
  return R;
}

LaneMatrix CalcStress(const ElementBatch& batch, const LaneMatrix& R0, const LaneMatrix& F,
                      bool increment) {
  LaneMatrix E = Strain(R0, F, increment);
  const Lane pressure = batch.lame_lambda * (E[0] + E[4] + E[8]);
  const Lane twice_mu = 2.0 * batch.lame_mu;
  for (int i = 0; i < 9; ++i) E[i] = twice_mu * E[i];
  for (int c = 0; c < 3; ++c) E[4 * c] += pressure;
  LaneMatrix P;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      P[3 * c + r] = R0[r] * E[3 * c] + R0[3 + r] * E[3 * c + 1] + R0[6 + r] * E[3 * c + 2];
    }
  }
  return P;
}

void CalcForces(const ElementBatch& batch, const LaneMatrix& P, Lane forces[4][3]) {
  for (int i = 0; i < 3; ++i) {
    for (int a = 1; a < 4; ++a) {
      const auto& G = batch.gradients[a];
      forces[a][i] = -(batch.volume * (P[i] * G[0] + P[3 + i] * G[1] + P[6 + i] * G[2]));
    }
    // the four add to nothing but rounding
    forces[0][i] = -(forces[1][i] + forces[2][i] + forces[3][i]);
  }
}

LaneMatrix CalcStiffness(const ElementBatch& batch, const LaneMatrix& R0, int a, int b) {
  const auto& Ga = batch.gradients[a];
  const auto& Gb = batch.gradients[b];
  Lane ha[3], hb[3];
  for (int r = 0; r < 3; ++r) {
    ha[r] = R0[r] * Ga[0] + R0[3 + r] * Ga[1] + R0[6 + r] * Ga[2];
    hb[r] = R0[r] * Gb[0] + R0[3 + r] * Gb[1] + R0[6 + r] * Gb[2];
  }
  const Lane lambda = batch.volume * batch.lame_lambda, mu = batch.volume * batch.lame_mu;
  const Lane dot = mu * (Ga[0] * Gb[0] + Ga[1] * Gb[1] + Ga[2] * Gb[2]);
  LaneMatrix K;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) K[3 * c + r] = lambda * ha[r] * hb[c] + mu * hb[r] * ha[c];
    K[4 * c] += dot;
  }
  return K;
}

Lane CalcEnergy(const ElementBatch& batch, const LaneMatrix& R0, const LaneMatrix& F) {
  const LaneMatrix E = Strain(R0, F, false);
  Lane squares{};
  for (int i = 0; i < 9; ++i) squares += E[i] * E[i];
  const Lane trace = E[0] + E[4] + E[8];
  return batch.volume * (batch.lame_mu * squares + 0.5 * batch.lame_lambda * trace * trace);
}

}  // namespace pliant::physics
