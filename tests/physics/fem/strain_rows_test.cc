#include "physics/fem/strain_rows.h"

#include <random>
#include <string>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;

Matrix3d Tensor(const Vector6d& s) {
  const double r = std::sqrt(0.5);
  Matrix3d S;
  S << s[0], r * s[3], r * s[5], r * s[3], s[1], r * s[4], r * s[5], r * s[4], s[2];
  return S;
}

Matrix6d ExtractMatrix(const LaneStrainMatrix& A, int lane) {
  Matrix6d B;
  for (int i = 0; i < 36; ++i) B.data()[i] = A[i][lane];
  return B;
}

struct Deformed {
  explicit Deformed(double strain) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int l = 0; l < kLanes; ++l) {
      Matrix3d F;
      for (int i = 0; i < 9; ++i) F.data()[i] = uniform(random);
      R[l] = CalcPolarRotation(F + 2 * Matrix3d::Identity());
      for (int i = 0; i < 6; ++i) s[l][i] = (i < 3 ? 1 : 0) + strain * uniform(random);
    }
  }
  LaneMatrix3 F(int component, double change) const {
    LaneMatrix3 result;
    for (int l = 0; l < kLanes; ++l) {
      Vector6d moved = s[l];
      if (component >= 0) moved[component] += change;
      Insert(R[l] * Tensor(moved), l, &result);
    }
    return result;
  }
  LaneMatrix3 Rotation() const {
    LaneMatrix3 result;
    for (int l = 0; l < kLanes; ++l) Insert(R[l], l, &result);
    return result;
  }
  Matrix3d R[kLanes];
  Vector6d s[kLanes];
};

class StrainRows : public testing::TestWithParam<const Material*> {
 protected:
  StrainRows() {
    for (std::size_t i = 0; i < GetParam()->parameters().size(); ++i)
      p_[i] = Splat(GetParam()->parameters()[i].example);
  }
  MaterialResponse Respond(const LaneMatrix3& F, Tangent tangent) const {
    MaterialResponse response;
    GetParam()->Respond(p_, F, tangent, &response);
    return response;
  }
  Lane p_[kMaxParameters] = {};
};

std::vector<const Material*> Materials() {
  const auto all = AllMaterials();
  return {all.begin(), all.end()};
}
// Materials whose energy depends on the strain along R; that of LINEAR depends on sym F instead.
std::vector<const Material*> StrainMaterials() {
  std::vector<const Material*> materials = Materials();
  std::erase_if(materials, [](const Material* m) { return m->kind() == Material::Kind::kLinear; });
  return materials;
}
std::string NameMaterial(const testing::TestParamInfo<const Material*>& info) {
  std::string name(info.param->name());
  std::erase(name, '_');
  return name;
}
class StrainEnergy : public StrainRows {};
INSTANTIATE_TEST_SUITE_P(Material, StrainRows, testing::ValuesIn(Materials()), NameMaterial);
INSTANTIATE_TEST_SUITE_P(Material, StrainEnergy, testing::ValuesIn(StrainMaterials()),
                         NameMaterial);

// N is compared with the Hessian of the energy, by central differences of the stress over δ = 1e-4,
// and E with its inverse. The error is δ² and rounding / δ.
TEST_P(StrainEnergy, ComplianceIsTheInverseHessianOfTheEnergy) {
  const Deformed at(0.08);
  const double delta = 1e-4;
  const LaneStrainMatrix N =
      CalcStrainStiffness(at.Rotation(), Respond(at.F(-1, 0), Tangent::kExact).tangent);
  unsigned projected;
  const LaneStrainMatrix E = CalcStrainCompliance(N, &projected);
  EXPECT_EQ(projected, 0u);
  for (int l = 0; l < kLanes; ++l) {
    Matrix6d H;
    for (int c = 0; c < 6; ++c) {
      const LaneMatrix3 R = at.Rotation();
      const LaneStrain more = CalcSymmetricPart(R, Respond(at.F(c, delta), Tangent::kNone).stress);
      const LaneStrain less = CalcSymmetricPart(R, Respond(at.F(c, -delta), Tangent::kNone).stress);
      for (int r = 0; r < 6; ++r) H(r, c) = (more[r][l] - less[r][l]) / (2 * delta);
    }
    const Matrix6d given = ExtractMatrix(N, l);
    EXPECT_LE((H - given).norm(), 1e-5 * given.norm());
    EXPECT_LE((ExtractMatrix(E, l) * H - Matrix6d::Identity()).norm(), 1e-4);
    EXPECT_LE((ExtractMatrix(E, l) - ExtractMatrix(E, l).transpose()).norm(),
              1e-12 * ExtractMatrix(E, l).norm());
  }
}

TEST_P(StrainEnergy, StressIsTheGradientOfTheEnergy) {
  const Deformed at(0.1);
  const double delta = 1e-5;
  const LaneStrain stress =
      CalcSymmetricPart(at.Rotation(), Respond(at.F(-1, 0), Tangent::kNone).stress);
  for (int c = 0; c < 6; ++c) {
    const Lane slope = (Respond(at.F(c, delta), Tangent::kNone).energy -
                        Respond(at.F(c, -delta), Tangent::kNone).energy) /
                       (2 * delta);
    for (int l = 0; l < kLanes; ++l)
      EXPECT_NEAR(stress[c][l], slope[l], 1e-6 * (1e5 + std::abs(slope[l])));
  }
}

TEST_P(StrainRows, ComplianceStaysFiniteAndDefiniteWhereTheHessianIsNot) {
  Deformed at(0);
  // flattened, and inverted
  const double smallest[kLanes] = {0.2, 1e-3, -0.3, -1};
  for (int l = 0; l < kLanes; ++l) at.s[l] << 1.3, 0.6, smallest[l], 0, 0, 0;
  unsigned projected;
  const std::array<Lane, 81> tangent = Respond(at.F(-1, 0), Tangent::kExact).tangent;
  const LaneStrainMatrix E =
      CalcStrainCompliance(CalcStrainStiffness(at.Rotation(), tangent), &projected);
  for (int l = 0; l < kLanes; ++l) {
    const Eigen::SelfAdjointEigenSolver<Matrix6d> eigen(ExtractMatrix(E, l));
    EXPECT_GT(eigen.eigenvalues()[0], 0);
    // no eigenvalue of N is below kMinStiffness of the largest
    EXPECT_LE(eigen.eigenvalues()[5], eigen.eigenvalues()[0] / kMinStiffness * (1 + 1e-6));
  }
}

// Compliance of the stable neo-Hookean material in closed form (macklin2019 appendix B): the
// inverse of a 3 × 3 Hessian in stretches, and of shears between them.
TEST(StrainCompliance, OfTheNeoHookeanMaterialIsThatOfItsPrincipalStretches) {
  const Material* material = FindMaterial("NEO_HOOKEAN");
  Lane p[kMaxParameters] = {};
  p[0] = Splat(1e5), p[1] = Splat(0.4);
  const double mu = CalcLame(p).mu[0], lambda = CalcLame(p).lambda[0];
  const double D = (lambda + mu) / 2, C = mu / 2, alpha = 1 + C / D;
  Deformed at(0);
  const double s[3] = {1.2, 0.9, 1.05};
  for (auto& one : at.s) one << s[0], s[1], s[2], 0, 0, 0;
  MaterialResponse response;
  material->Respond(p, at.F(-1, 0), Tangent::kExact, &response);
  unsigned projected;
  const Matrix6d E = ExtractMatrix(
      CalcStrainCompliance(CalcStrainStiffness(at.Rotation(), response.tangent), &projected), 0);
  const double J = s[0] * s[1] * s[2];
  Matrix3d H;
  double g[3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double k = s[3 - i - j < 0 || i == j ? 0 : 3 - i - j];
      H(i, j) = i == j ? 2 * (D * J * J / (s[i] * s[i]) + C) : 2 * D * k * (2 * J - alpha);
    }
    // the paper's appendix has (J − 1) instead of (J − α)
    g[i] = 2 * C * s[i] + 2 * D * (J - alpha) * J / s[i];
  }
  EXPECT_LE((E.topLeftCorner<3, 3>() - H.inverse()).norm(), 1e-10 * H.inverse().norm());
  const int pairs[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  for (int k = 0; k < 3; ++k) {
    const auto [i, j] = pairs[k];
    EXPECT_NEAR(E(3 + k, 3 + k) * (g[i] - g[j]) / (s[i] - s[j]), 1, 1e-9);
  }
}

TEST(StrainCompliance, OfHookesLawIsItsInverse) {
  const Lane mu = {1e4, 2e4, 3e3, 1}, lambda = {2e4, 0, -1e3, 100};
  const LaneStrainMatrix E = CalcHookeCompliance(mu, lambda);
  for (int l = 0; l < kLanes; ++l) {
    Matrix6d K = 2 * mu[l] * Matrix6d::Identity();
    K.topLeftCorner<3, 3>() += lambda[l] * Matrix3d::Ones();
    EXPECT_LE((ExtractMatrix(E, l) * K - Matrix6d::Identity()).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace pliant::physics
