#include "physics/fem/materials/material.h"

#include <cmath>

#include <Eigen/Eigenvalues>

namespace pliant::physics {

// All materials by name; each is defined in its own file.
#define PLIANT_MATERIALS(ADD) \
  ADD(LinearCorotational)     \
  ADD(Linear)                 \
  ADD(Corotational)           \
  ADD(StVenantKirchhoff)      \
  ADD(NeoHookean)             \
  ADD(MooneyRivlin)           \
  ADD(LogNeoHookean)

#define PLIANT_DECLARE(NAME) const Material* NAME##Material();
#define PLIANT_CALL(NAME) NAME##Material(),
PLIANT_MATERIALS(PLIANT_DECLARE)

std::span<const Material* const> AllMaterials() {
  static const Material* const kAll[] = {PLIANT_MATERIALS(PLIANT_CALL)};
  return kAll;
}
#undef PLIANT_DECLARE
#undef PLIANT_CALL
#undef PLIANT_MATERIALS

const Material* FindMaterial(std::string_view name) {
  for (const Material* material : AllMaterials()) {
    if (material->name() == name) return material;
  }
  return nullptr;
}

std::span<const MaterialParameter> YoungAndPoisson() {
  static constexpr MaterialParameter kBoth[] = {
      {"youngs_modulus", "a positive modulus in pascals. Rubber is about 1e6, soft foam 1e4", 1e-6,
       1e15, 1e5},
      {"poissons_ratio", "a number in (-1, 0.5). Most materials have 0.3 to 0.45", -1 + 1e-12,
       0.5 - 1e-12, 0.35},
  };
  return kBoth;
}

Lame CalcLame(const Lane* young_and_poisson) {
  const Lane E = young_and_poisson[0], nu = young_and_poisson[1];
  return {E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))};
}

// The general version: corrects the exact tangent, and projects it as a whole.
void Material::RespondToMean(const Lane* p, const LaneMatrix3& F, const Lane& mean, Tangent tangent,
                             MaterialResponse* response) const {
  const bool has_tangent = tangent != Tangent::kNone;
  Respond(p, F, has_tangent ? Tangent::kExact : tangent, response);
  const LaneMatrix3 cofactors = CalcCofactors(F);
  const Lane J = F[0] * cofactors[0] + F[1] * cofactors[1] + F[2] * cofactors[2];
  const Lane kappa = CalcVolumetricStiffness(p), pressure = kappa * (mean - J);
  response->energy += 0.5 * kappa * ((mean - 1) * (mean - 1) - (J - 1) * (J - 1));
  for (int i = 0; i < 9; ++i) response->stress[i] += pressure * cofactors[i];
  if (!has_tangent) return;
  std::array<Lane, 81>& T = response->tangent;
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 9; ++j) T[9 * i + j] -= kappa * cofactors[i] * cofactors[j];
  }
  // ∂²J/∂F²: for columns c and d ≠ c, the cross product with the third, f_e
  for (int c = 0; c < 3; ++c) {
    const int d = (c + 1) % 3, e = (c + 2) % 3;
    for (int r = 0; r < 3; ++r) {
      const int s = (r + 1) % 3, t = (r + 2) % 3;
      // ∂²J/∂f_c[r]∂f_d[s] = f_e[t], with the opposite sign if r and s are exchanged
      const Lane x = pressure * F[3 * e + t];
      T[9 * (3 * c + r) + 3 * d + s] += x;
      T[9 * (3 * d + s) + 3 * c + r] += x;
      T[9 * (3 * c + s) + 3 * d + r] -= x;
      T[9 * (3 * d + r) + 3 * c + s] -= x;
    }
  }
  if (tangent == Tangent::kConvex || tangent == Tangent::kAbsolute)
    response->projected = ProjectEigenvalues(tangent, &T);
  if (tangent == Tangent::kDamping) RemoveSpin(F, &T);
}

Lame CalcRestLame(const Material& material, const Lane* parameters) {
  LaneMatrix3 identity{};
  for (int i = 0; i < 3; ++i) identity[4 * i] = Splat(1);
  MaterialResponse response;
  material.Respond(parameters, identity, Tangent::kExact, &response);
  // ∂P_yx/∂F_yx and ∂P_xx/∂F_yy
  return {response.tangent[9 * 1 + 1], response.tangent[9 * 4 + 0]};
}

RestModuli CalcRestModuli(const Material& material, std::span<const double> parameters) {
  Lane p[kMaxParameters] = {};
  for (std::size_t i = 0; i < parameters.size(); ++i) p[i] = Splat(parameters[i]);
  const Lame lame = CalcRestLame(material, p);
  return {lame.mu[0], lame.lambda[0]};
}

namespace {

using Matrix9d = Eigen::Matrix<double, 9, 9>;
using Mask = decltype(Lane{} < Lane{});

// Which of four symmetric matrices are positive definite beyond rounding, by Cholesky
// factorisation.
Mask AreDefinite(std::array<Lane, 81> A) {
  Lane trace{};
  for (int i = 0; i < 9; ++i) trace += A[10 * i];
  Mask definite = trace > 0;
  for (int k = 0; k < 9; ++k) {
    const Lane pivot = A[10 * k];
    definite = definite & (pivot > 1e-13 * trace);
    const Lane inverse = 1 / (pivot > 0 ? pivot : Splat(1));
    for (int c = k + 1; c < 9; ++c) {
      const Lane factor = inverse * A[9 * k + c];
      for (int r = c; r < 9; ++r) A[9 * c + r] -= factor * A[9 * k + r];
    }
  }
  return definite;
}

unsigned ProjectLanes(Tangent kind, const Mask& definite, std::array<Lane, 81>* tangent) {
  unsigned projected = 0;
  for (int l = 0; l < kLanes; ++l) {
    if (definite[l]) continue;
    const Matrix9d A = Extract(*tangent, l);
    if (!A.allFinite()) continue;
    const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(A);
    if (eigen.eigenvalues()[0] >= 0) continue;
    if (eigen.eigenvalues()[0] < kRoundedEigenvalue * eigen.eigenvalues().cwiseAbs().maxCoeff())
      projected |= 1u << l;
    const Matrix9d& Q = eigen.eigenvectors();
    const auto values =
        eigen.eigenvalues().unaryExpr([kind](double x) { return ProjectEigenvalue(kind, x); });
    const Matrix9d projection = Q * values.asDiagonal() * Q.transpose();
    for (int i = 0; i < 81; ++i) (*tangent)[i][l] = projection.data()[i];
  }
  return projected;
}

Lane Dot9(const Lane* x, const Lane* y) {
  Lane sum = x[0] * y[0];
  for (int i = 1; i < 9; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

unsigned ProjectEigenvalues(Tangent kind, std::array<Lane, 81>* tangent) {
  // most tangents are definite, and an eigenvalue decomposition costs more than the rest of an
  // element
  return ProjectLanes(kind, AreDefinite(*tangent), tangent);
}

void RemoveSpin(const LaneMatrix3& F, std::array<Lane, 81>* tangent) {
  std::array<Lane, 81>& T = *tangent;
  // orthonormal basis of the three W F; zero in place of a vector that depends on earlier ones
  Lane basis[3][9] = {};
  Lane size{};
  for (const Lane& x : F) size += x * x;
  for (int axis = 0; axis < 3; ++axis) {
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    Lane* spin = basis[axis];
    for (int c = 0; c < 3; ++c) {
      spin[3 * c + i] = -F[3 * c + j];
      spin[3 * c + j] = F[3 * c + i];
    }
    // twice, since rounding in the first pass leaves a part along earlier vectors
    for (int pass = 0; pass < 2; ++pass) {
      for (int b = 0; b < axis; ++b) {
        const Lane along = Dot9(basis[b], spin);
        for (int e = 0; e < 9; ++e) spin[e] -= along * basis[b][e];
      }
    }
    const Lane square = Dot9(spin, spin);
    const auto is_new = square > 1e-20 * size;
    const Lane inverse = is_new ? 1 / Sqrt(is_new ? square : Splat(1)) : Splat(0);
    for (int e = 0; e < 9; ++e) spin[e] *= inverse;
  }

  // K T K with K = I − B Bᵀ: T − B (T B − ½ B M)ᵀ − (T B − ½ B M) Bᵀ with M = Bᵀ T B
  Lane TB[3][9] = {}, M[3][3];
  for (int b = 0; b < 3; ++b) {
    for (int c = 0; c < 9; ++c)
      for (int r = 0; r < 9; ++r) TB[b][r] += T[9 * c + r] * basis[b][c];
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) M[a][b] = Dot9(basis[a], TB[b]);
  for (int b = 0; b < 3; ++b) {
    for (int a = 0; a < 3; ++a)
      for (int e = 0; e < 9; ++e) TB[b][e] -= 0.5 * M[a][b] * basis[a][e];
  }
  std::array<Lane, 81> filled;  // plus stiffness against spin: definite where the rest is
  Lane trace{};
  for (int c = 0; c < 9; ++c) {
    for (int r = 0; r < 9; ++r) {
      Lane x = T[9 * c + r];
      for (int b = 0; b < 3; ++b) x -= basis[b][r] * TB[b][c] + TB[b][r] * basis[b][c];
      T[9 * c + r] = x;
    }
    trace += T[10 * c];
  }
  for (int c = 0; c < 9; ++c) {
    for (int r = 0; r < 9; ++r) {
      Lane x = T[9 * c + r];
      for (int b = 0; b < 3; ++b) x += trace * basis[b][r] * basis[b][c];
      filled[9 * c + r] = x;
    }
  }
  ProjectLanes(Tangent::kDamping, AreDefinite(filled), tangent);
}

}  // namespace pliant::physics
