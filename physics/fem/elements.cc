#include "physics/fem/elements.h"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

// ε = sym(R0ᵀ F) − I, or without −I; column-major, symmetric
LaneMatrix3 Strain(const LaneMatrix3& R0, const LaneMatrix3& F, bool increment) {
  LaneMatrix3 S;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      S[3 * c + r] =
          R0[3 * r] * F[3 * c] + R0[3 * r + 1] * F[3 * c + 1] + R0[3 * r + 2] * F[3 * c + 2];
    }
  }
  LaneMatrix3 E;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) E[3 * c + r] = 0.5 * (S[3 * c + r] + S[3 * r + c]);
    if (!increment) E[4 * c] -= 1.0;
  }
  return E;
}

// Index of K_ab, a ≥ b, among the ten blocks.
constexpr int PairIndex(int a, int b) {
  return a * (a + 1) / 2 + b;
}

// Computes the blocks of node 0 from the others: the gradients sum to zero, and so do the rows and
// columns of K.
void CompleteStiffness(LaneMatrix3 K[10]) {
  const auto of = [&](int a, int b, int i, int k) {
    return a >= b ? K[PairIndex(a, b)][3 * k + i] : K[PairIndex(b, a)][3 * i + k];
  };
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 3; ++i) {
      for (int a = 1; a < 4; ++a)
        K[PairIndex(a, 0)][3 * k + i] = -(of(a, 1, i, k) + of(a, 2, i, k) + of(a, 3, i, k));
    }
  }
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 3; ++i)
      K[0][3 * k + i] = -(of(1, 0, i, k) + of(2, 0, i, k) + of(3, 0, i, k));
  }
}

}  // namespace

ElementBatches MakeElementBatches(const FemParameters& parameters) {
  const auto& mesh = parameters.mesh;
  const int count = static_cast<int>(mesh.tetrahedra.size());
  const auto material_of = [&](int element) -> const FemMaterial& {
    return parameters
        .materials[parameters.element_material.empty() ? 0 : parameters.element_material[element]];
  };

  // groups: the quadratic elements, then each other material in order of first appearance
  std::vector<std::vector<int>> groups(1);
  std::vector<const Material*> materials{nullptr};
  for (int element = 0; element < count; ++element) {
    const Material* material = material_of(element).material;
    // The pressure of a volume acts on the surface at the end of the step. Stress in the directions
    // of the start would balance it only up to a torque, which would spin the body up.
    if (material->kind() == Material::Kind::kLinearCorotational && !parameters.volumes.empty())
      material = CorotationalMaterial();
    if (material->kind() != Material::Kind::kNonlinear) material = nullptr;
    const auto found = std::find(materials.begin(), materials.end(), material);
    if (found == materials.end()) {
      materials.push_back(material);
      groups.push_back({element});
    } else {
      groups[found - materials.begin()].push_back(element);
    }
  }

  ElementBatches result;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t size = groups[g].size();
    for (std::size_t slot = 0; slot < (size + kLanes - 1) / kLanes * kLanes; ++slot) {
      const int lane = static_cast<int>(slot % kLanes);
      if (lane == 0) {
        result.batches.emplace_back();
        if (materials[g] != nullptr) result.nonlinear.push_back({materials[g], {}});
      }
      const int element = groups[g][std::min(slot, size - 1)];
      result.elements.push_back(slot < size ? element : -1);
      ElementBatch& batch = result.batches.back();
      // with ascending nodes, every block of K is in the lower triangle
      std::array<int, 4>& nodes = batch.nodes[lane];
      nodes = mesh.tetrahedra[element];
      std::sort(nodes.begin(), nodes.end());

      Eigen::Matrix3d D;
      for (int a = 0; a < 3; ++a) D.col(a) = mesh.vertices[nodes[a + 1]] - mesh.vertices[nodes[0]];
      Eigen::Matrix3d gradients = D.inverse();  // row a: gradient of node a + 1
      // nothing changes along z
      if (parameters.plane_strain) gradients.col(2).setZero();
      for (int i = 0; i < 3; ++i) {
        for (int a = 0; a < 3; ++a) batch.gradients[a + 1][i][lane] = gradients(a, i);
        batch.gradients[0][i][lane] = -(gradients(0, i) + gradients(1, i) + gradients(2, i));
      }
      // padding repeats an element, with zero volume
      batch.volume[lane] = slot < size ? std::abs(D.determinant()) / 6 : 0;

      const FemMaterial& material = material_of(element);
      batch.density[lane] = material.density;
      if (materials[g] != nullptr) {
        for (std::size_t i = 0; i < material.parameters.size(); ++i)
          result.nonlinear.back().parameters[i][lane] = material.parameters[i];
        continue;
      }
      const double E = material.parameters[0], nu = material.parameters[1];
      batch.lame_mu[lane] = E / (2 * (1 + nu));
      batch.lame_lambda[lane] = E * nu / ((1 + nu) * (1 - 2 * nu));
      batch.corotates[lane] = material.material->kind() == Material::Kind::kLinear ? 0 : 1;
    }
    if (g == 0) result.num_quadratic = static_cast<int>(result.batches.size());
  }
  return result;
}

LaneMatrix3 CalcGradient(const ElementBatch& batch, std::span<const double> x) {
  LaneMatrix3 F{};
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

Lane CalcVonMisesStrain(const LaneMatrix3& F) {
  const auto half_dot = [&](int i, int j) {
    return 0.5 * (F[3 * i] * F[3 * j] + F[3 * i + 1] * F[3 * j + 1] + F[3 * i + 2] * F[3 * j + 2]);
  };
  // the deviator of −½ I is zero
  const Lane xx = half_dot(0, 0), yy = half_dot(1, 1), zz = half_dot(2, 2);
  const Lane xy = half_dot(0, 1), yz = half_dot(1, 2), xz = half_dot(0, 2);
  const Lane mean = (xx + yy + zz) / 3.0;
  const Lane diagonal =
      (xx - mean) * (xx - mean) + (yy - mean) * (yy - mean) + (zz - mean) * (zz - mean);
  return Sqrt(2.0 / 3 * (diagonal + 2.0 * (xy * xy + yz * yz + xz * xz)));
}

LaneMatrix3 CalcReferenceRotation(const ElementBatch& batch, const LaneMatrix3& F) {
  LaneMatrix3 R = CalcPolarRotations(F);
  for (int i = 0; i < 9; ++i) R[i] = batch.corotates != 0 ? R[i] : Splat(i % 4 == 0 ? 1.0 : 0.0);
  return R;
}

LaneMatrix3 CalcStress(const ElementBatch& batch, const LaneMatrix3& R0, const LaneMatrix3& F,
                       bool increment) {
  LaneMatrix3 E = Strain(R0, F, increment);
  const Lane pressure = batch.lame_lambda * (E[0] + E[4] + E[8]);
  const Lane twice_mu = 2.0 * batch.lame_mu;
  for (int i = 0; i < 9; ++i) E[i] = twice_mu * E[i];
  for (int c = 0; c < 3; ++c) E[4 * c] += pressure;
  LaneMatrix3 P;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      P[3 * c + r] = R0[r] * E[3 * c] + R0[3 + r] * E[3 * c + 1] + R0[6 + r] * E[3 * c + 2];
    }
  }
  return P;
}

void CalcForces(const ElementBatch& batch, const LaneMatrix3& P, Lane forces[4][3]) {
  for (int i = 0; i < 3; ++i) {
    for (int a = 1; a < 4; ++a) {
      const auto& G = batch.gradients[a];
      forces[a][i] = -(batch.volume * (P[i] * G[0] + P[3 + i] * G[1] + P[6 + i] * G[2]));
    }
    // the four sum to zero up to rounding
    forces[0][i] = -(forces[1][i] + forces[2][i] + forces[3][i]);
  }
}

void CalcStiffness(const ElementBatch& batch, const LaneMatrix3& R0, double scale,
                   LaneMatrix3 K[10]) {
  Lane h[4][3];
  for (int a = 1; a < 4; ++a) {
    const auto& G = batch.gradients[a];
    for (int r = 0; r < 3; ++r) h[a][r] = R0[r] * G[0] + R0[3 + r] * G[1] + R0[6 + r] * G[2];
  }
  const Lane volume = scale * batch.volume;
  const Lane lambda = volume * batch.lame_lambda, mu = volume * batch.lame_mu;
  for (int a = 1; a < 4; ++a) {
    const auto& Ga = batch.gradients[a];
    for (int b = 1; b <= a; ++b) {
      const auto& Gb = batch.gradients[b];
      LaneMatrix3& block = K[PairIndex(a, b)];
      for (int c = 0; c < 3; ++c) {
        const Lane along = lambda * h[b][c], across = mu * h[a][c];
        for (int r = 0; r < 3; ++r) block[3 * c + r] = h[a][r] * along + h[b][r] * across;
      }
      const Lane dot = mu * (Ga[0] * Gb[0] + Ga[1] * Gb[1] + Ga[2] * Gb[2]);
      for (int r = 0; r < 3; ++r) block[4 * r] += dot;
    }
  }
  CompleteStiffness(K);
}

void CalcStiffness(const ElementBatch& batch, const std::array<Lane, 81>& tangent,
                   LaneMatrix3 K[10]) {
  // T_b(i, j, k) = V Σ_l ∂P_ij/∂F_kl G_b,l of nodes 1 to 3; K_ab(i, k) = Σ_j G_a,j T_b(i, j, k)
  for (int b = 1; b < 4; ++b) {
    Lane T[27];  // (i, j) fastest
    const auto& G = batch.gradients[b];
    for (int k = 0; k < 3; ++k) {
      for (int ij = 0; ij < 9; ++ij) {
        T[9 * k + ij] =
            batch.volume * (tangent[9 * k + ij] * G[0] + tangent[9 * (3 + k) + ij] * G[1] +
                            tangent[9 * (6 + k) + ij] * G[2]);
      }
    }
    for (int a = b; a < 4; ++a) {
      const auto& H = batch.gradients[a];
      LaneMatrix3& block = K[PairIndex(a, b)];
      for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i) {
          block[3 * k + i] =
              H[0] * T[9 * k + i] + H[1] * T[9 * k + 3 + i] + H[2] * T[9 * k + 6 + i];
        }
      }
    }
  }
  CompleteStiffness(K);
}

LaneMatrix3 ApplyTangent(const std::array<Lane, 81>& tangent, const LaneMatrix3& dF) {
  LaneMatrix3 dP{};
  for (int c = 0; c < 9; ++c) {
    for (int r = 0; r < 9; ++r) dP[r] += tangent[9 * c + r] * dF[c];
  }
  return dP;
}

Lane CalcEnergyDensity(const ElementBatch& batch, const LaneMatrix3& R0, const LaneMatrix3& F) {
  const LaneMatrix3 E = Strain(R0, F, false);
  Lane squares{};
  for (int i = 0; i < 9; ++i) squares += E[i] * E[i];
  const Lane trace = E[0] + E[4] + E[8];
  return batch.lame_mu * squares + 0.5 * batch.lame_lambda * trace * trace;
}

}  // namespace pliant::physics
