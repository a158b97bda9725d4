#include "physics/fem/materials/isotropic.h"

#include <Eigen/Eigenvalues>

#include "physics/fem/materials/principal_stretches.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

// Makes H positive semi-definite where it is not, as ProjectEigenvalues. Returns the lanes that
// this changed beyond rounding.
unsigned ProjectStiffness(Tangent kind, Lane H[3][3]) {
  unsigned projected = 0;
  for (int l = 0; l < kLanes; ++l) {
    Matrix3d A;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) A(i, j) = H[i][j][l];
    }
    const auto minor = [&](int i, int j) { return A(i, i) * A(j, j) - A(i, j) * A(j, i); };
    const bool definite = A(0, 0) > 0 && A(1, 1) > 0 && A(2, 2) > 0 && minor(0, 1) > 0 &&
                          minor(0, 2) > 0 && minor(1, 2) > 0 &&
                          A(0, 0) * minor(1, 2) -
                                  A(0, 1) * (A(1, 0) * A(2, 2) - A(1, 2) * A(2, 0)) +
                                  A(0, 2) * (A(1, 0) * A(2, 1) - A(1, 1) * A(2, 0)) >
                              0;
    if (definite || !A.allFinite()) continue;
    const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(A);
    if (eigen.eigenvalues()[0] < kRoundedEigenvalue * eigen.eigenvalues().cwiseAbs().maxCoeff())
      projected |= 1u << l;
    const Matrix3d& Q = eigen.eigenvectors();
    const auto values =
        eigen.eigenvalues().unaryExpr([kind](double x) { return ProjectEigenvalue(kind, x); });
    const Matrix3d projection = Q * values.asDiagonal() * Q.transpose();
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) H[i][j][l] = projection(i, j);
    }
  }
  return projected;
}

// Replaces κ/2 (J − 1)² by κ/2 (J̄ − 1)².
void UseMean(Lane kappa, const Lane s[3], Lane mean, PrincipalResponse* r) {
  const Lane J = s[0] * s[1] * s[2], pressure = kappa * (mean - J);
  const Lane cofactor[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
  r->energy += 0.5 * kappa * ((mean - 1) * (mean - 1) - (J - 1) * (J - 1));
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    r->stress[k] += pressure * cofactor[k];
    r->stiffness[k][k] -= kappa * cofactor[k] * cofactor[k];
    r->stiffness[i][j] += pressure * s[k] - kappa * cofactor[i] * cofactor[j];
    r->stiffness[j][i] = r->stiffness[i][j];
    r->shear[k] -= pressure * s[k];
    r->spin[k] += pressure * s[k];
  }
}

// Adds a (x yᵀ + y xᵀ), or a x xᵀ if y is x, to the lower triangle of a 9 × 9 matrix.
void AddDyad(Lane a, const Lane* x, const Lane* y, std::array<Lane, 81>* T) {
  for (int c = 0; c < 9; ++c) {
    const Lane ax = a * x[c], ay = a * y[c];
    for (int r = c; r < 9; ++r) (*T)[9 * c + r] += x == y ? ax * x[r] : ax * y[r] + ay * x[r];
  }
}

}  // namespace

void IsotropicMaterial::RespondTo(const Lane* p, const LaneMatrix3& F, const Lane* mean,
                                  Tangent tangent, MaterialResponse* response) const {
  const PrincipalStretches f = CalcPrincipalStretches(F);
  PrincipalResponse r;
  RespondToStretches(p, f.s, &r);
  if (mean != nullptr) UseMean(CalcVolumetricStiffness(p), f.s, *mean, &r);
  response->energy = r.energy;
  LaneMatrix3 Ug;
  for (int i = 0; i < 9; ++i) Ug[i] = f.U[i] * r.stress[i / 3];
  response->stress = ProductTransposed(Ug, f.V);
  if (tangent == Tangent::kNone) return;

  if (IsProjected(tangent)) {
    response->projected = ProjectStiffness(tangent, r.stiffness);
    for (int k = 0; k < 3; ++k) {
      const Lane least = kRoundedEigenvalue * r.stiffness[k][k];
      for (int l = 0; l < kLanes; ++l) {
        if (r.shear[k][l] < least[l] || r.spin[k][l] < least[l]) response->projected |= 1u << l;
        r.shear[k][l] = ProjectEigenvalue(tangent, r.shear[k][l]);
        r.spin[k][l] = ProjectEigenvalue(tangent, r.spin[k][l]);
      }
    }
  }
  std::array<Lane, 81>& T = response->tangent;
  T.fill(Lane{});
  // the eigenvectors are combinations of u_i v_jᵀ
  Lane D[3][9];
  const auto dyad = [&](int i, int j, Lane* to) {
    for (int c = 0; c < 3; ++c) {
      for (int row = 0; row < 3; ++row) to[3 * c + row] = f.U[3 * i + row] * f.V[3 * j + c];
    }
  };
  for (int i = 0; i < 3; ++i) dyad(i, i, D[i]);
  for (int i = 0; i < 3; ++i) {
    AddDyad(r.stiffness[i][i], D[i], D[i], &T);
    for (int j = 0; j < i; ++j) AddDyad(r.stiffness[i][j], D[i], D[j], &T);
  }
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    Lane a[9], b[9], x[9], y[9];
    dyad(i, j, a);
    dyad(j, i, b);
    if (tangent == Tangent::kDamping) {
      // in the plane of a and b, keep only the direction orthogonal to the spin s_j a − s_i b
      const Lane si = f.s[i], sj = f.s[j];
      for (int e = 0; e < 9; ++e) x[e] = si * a[e] + sj * b[e];
      const Lane square = si * si + sj * sj + 1e-300;
      const Lane sum = (si + sj) * (si + sj), difference = (si - sj) * (si - sj);
      AddDyad(0.5 * (r.shear[k] * sum + r.spin[k] * difference) / (square * square), x, x, &T);
      continue;
    }
    for (int e = 0; e < 9; ++e) {
      x[e] = a[e] + b[e];
      y[e] = a[e] - b[e];
    }
    AddDyad(0.5 * r.shear[k], x, x, &T);
    AddDyad(0.5 * r.spin[k], y, y, &T);
  }
  for (int c = 0; c < 9; ++c) {
    for (int row = 0; row < c; ++row) T[9 * c + row] = T[9 * row + c];
  }
}

void IsotropicMaterial::DividePairs(const Lane s[3], PrincipalResponse* r) {
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const auto divide = [&](double sign) {
      const Lane gap = s[i] + sign * s[j];
      const Lane size = (s[i] < 0 ? -s[i] : s[i]) + (s[j] < 0 ? -s[j] : s[j]);
      const auto close = (gap < 0 ? -gap : gap) <= 1e-6 * size;
      const Lane limit =
          0.5 * (r->stiffness[i][i] + r->stiffness[j][j]) + sign * r->stiffness[i][j];
      return close ? limit : (r->stress[i] + sign * r->stress[j]) / (close ? Splat(1) : gap);
    };
    r->shear[k] = divide(-1);
    r->spin[k] = divide(1);
  }
}

}  // namespace pliant::physics
