#include "physics/fem/materials/material.h"

#include <cmath>

#include <Eigen/Eigenvalues>

namespace pliant::physics {

// A material joins by its name here; what it is stands in its own file.
#define PLIANT_MATERIALS(ADD) \
  ADD(LinearCorotational)     \
  ADD(Linear)                 \
  ADD(Corotational)           \
  ADD(StVenantKirchhoff)      \
  ADD(NeoHookean)             \
  ADD(MooneyRivlin)

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

RestModuli CalcRestModuli(const Material& material, std::span<const double> parameters) {
  Lane p[kMostParameters] = {};
  for (std::size_t i = 0; i < parameters.size(); ++i) p[i] = Splat(parameters[i]);
  LaneMatrix3 identity{};
  for (int i = 0; i < 3; ++i) identity[4 * i] = Splat(1);
  MaterialResponse response;
  material.Respond(p, identity, Tangent::kExact, &response);
  // ∂P_yx/∂F_yx and ∂P_xx/∂F_yy
  return {response.tangent[9 * 1 + 1][0], response.tangent[9 * 4 + 0][0]};
}

void ClampEigenvalues(std::array<Lane, 81>* tangent) {
  using Matrix9d = Eigen::Matrix<double, 9, 9>;
  for (int l = 0; l < kLanes; ++l) {
    Matrix9d A;
    for (int i = 0; i < 81; ++i) A.data()[i] = (*tangent)[i][l];
    if (!A.allFinite()) continue;
    const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(A);
    if (eigen.eigenvalues()[0] >= 0) continue;
    const Matrix9d& Q = eigen.eigenvectors();
    const Matrix9d clamped = Q * eigen.eigenvalues().cwiseMax(0).asDiagonal() * Q.transpose();
    for (int i = 0; i < 81; ++i) (*tangent)[i][l] = clamped.data()[i];
  }
}

void RemoveSpin(const LaneMatrix3& F, std::array<Lane, 81>* tangent) {
  using Matrix9d = Eigen::Matrix<double, 9, 9>;
  for (int l = 0; l < kLanes; ++l) {
    // an orthonormal basis of the three W F
    const Eigen::Matrix3d f = Extract(F, l);
    Eigen::Matrix<double, 9, 3> basis;
    int rank = 0;
    for (int axis = 0; axis < 3; ++axis) {
      Eigen::Matrix<double, 9, 1> spin;
      for (int c = 0; c < 3; ++c)
        spin.segment<3>(3 * c) = Eigen::Vector3d::Unit(axis).cross(f.col(c));
      // twice: rounding of the first leaves a part of those before
      for (int pass = 0; pass < 2; ++pass) {
        for (int b = 0; b < rank; ++b) spin -= basis.col(b).dot(spin) * basis.col(b);
      }
      if (spin.squaredNorm() > 1e-20 * f.squaredNorm())
        basis.col(rank++) = spin / std::sqrt(spin.squaredNorm());
    }
    Matrix9d keep = Matrix9d::Identity(), T;
    for (int b = 0; b < rank; ++b) keep -= basis.col(b) * basis.col(b).transpose();
    for (int i = 0; i < 81; ++i) T.data()[i] = (*tangent)[i][l];
    T = keep * T * keep;
    for (int i = 0; i < 81; ++i) (*tangent)[i][l] = T.data()[i];
  }
}

}  // namespace pliant::physics
