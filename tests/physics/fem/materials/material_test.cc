// Properties that every registered material must have, tested at random deformations.

#include "physics/fem/materials/material.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/materials/isotropic.h"
#include "physics/fem/materials/polar_rotation.h"
#include "physics/fem/materials/principal_stretches.h"
#include "tests/physics/fem/materials/select_materials.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix9d = Eigen::Matrix<double, 9, 9>;
using Vector9d = Eigen::Matrix<double, 9, 1>;

struct Point {
  double energy;
  Matrix3d stress;
  Matrix9d tangent;
};

// A material with its example parameters, evaluated at one F.
class Sample {
 public:
  explicit Sample(const Material* material) : material_(material) {
    for (std::size_t i = 0; i < material->parameters().size(); ++i)
      p_[i] = Splat(material->parameters()[i].example);
  }

  Point At(const Matrix3d& F, Tangent tangent = Tangent::kExact) const {
    LaneMatrix3 lanes;
    for (int l = 0; l < kLanes; ++l) Insert(F, l, &lanes);
    MaterialResponse response{};
    material_->Respond(p_, lanes, tangent, &response);
    Point point{response.energy[0], Extract(response.stress, 0), {}};
    point.tangent = Extract(response.tangent, 0);
    return point;
  }

  const Material& material() const { return *material_; }
  RestModuli moduli() const {
    std::vector<double> parameters;
    for (const MaterialParameter& parameter : material_->parameters())
      parameters.push_back(parameter.example);
    return CalcRestModuli(*material_, parameters);
  }
  // Scale of the stresses.
  double stiffness() const { return 2 * moduli().mu + moduli().lambda; }

 private:
  const Material* material_;
  Lane p_[kMaxParameters] = {};
};

Matrix3d RandomRotation(std::mt19937* random) {
  std::normal_distribution<double> normal;
  return Eigen::Quaterniond(normal(*random), normal(*random), normal(*random), normal(*random))
      .normalized()
      .toRotationMatrix();
}

// Returns F with principal stretches of 0.4 to 1.8, the last one negative if `inverted`.
Matrix3d RandomDeformation(bool inverted, std::mt19937* random) {
  std::uniform_real_distribution<double> stretch(0.4, 1.8);
  Vector3d s(stretch(*random), stretch(*random), stretch(*random));
  if (inverted) s[2] *= -1;
  return RandomRotation(random) * s.asDiagonal() * RandomRotation(random).transpose();
}

Matrix3d RandomDirection(std::mt19937* random) {
  std::normal_distribution<double> normal;
  Matrix3d D;
  for (int i = 0; i < 9; ++i) D.data()[i] = normal(*random);
  return D / D.norm();
}

// Smallest sum of two principal stretches. The rotation of F changes at a rate inversely
// proportional to it, and the stress of COROTATIONAL with it.
double RotationGap(const Matrix3d& F) {
  const Vector3d s = F.jacobiSvd().singularValues();
  return s[1] + (F.determinant() < 0 ? -1 : 1) * s[2];
}

Vector9d AsVector(const Matrix3d& A) {
  return Eigen::Map<const Vector9d>(A.data());
}

class EveryMaterial : public testing::TestWithParam<const Material*> {
 protected:
  Sample sample_{GetParam()};
  std::mt19937 random_{17};
};

INSTANTIATE_TEST_SUITE_P(Registered, EveryMaterial,
                         testing::ValuesIn(AllMaterials().begin(), AllMaterials().end()),
                         NameOfMaterial);

// Materials that have more than one tangent.
class NonlinearMaterial : public EveryMaterial {};

INSTANTIATE_TEST_SUITE_P(Registered, NonlinearMaterial, SelectMaterials([](Material::Kind kind) {
                           return kind == Material::Kind::kNonlinear;
                         }),
                         NameOfMaterial);

class InvariantMaterial : public EveryMaterial {};

INSTANTIATE_TEST_SUITE_P(Registered, InvariantMaterial, SelectMaterials(IsRotationInvariant),
                         NameOfMaterial);

TEST_P(EveryMaterial, IsFoundByItsName) {
  EXPECT_EQ(FindMaterial(GetParam()->name()), GetParam());
  EXPECT_EQ(FindMaterial("GRANITE"), nullptr);
  ASSERT_LE(GetParam()->parameters().size(), std::size_t{kMaxParameters});
  for (const MaterialParameter& p : GetParam()->parameters()) {
    EXPECT_LE(p.smallest, p.example);
    EXPECT_GE(p.largest, p.example);
  }
}

TEST_P(EveryMaterial, StressIsTheDerivativeOfTheEnergy) {
  for (int trial = 0; trial < 200; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    const Matrix3d D = RandomDirection(&random_);
    const double gap = RotationGap(F);
    if (gap < 0.1) continue;
    const double exact = (sample_.At(F).stress.transpose() * D).trace();
    // extrapolated central differences: the error is d⁴ times the fifth derivative, plus rounding
    // of the energy over d
    const auto slope = [&](double d) {
      return (sample_.At(F + d * D).energy - sample_.At(F - d * D).energy) / (2 * d);
    };
    const double d = 1e-3 * gap;
    EXPECT_NEAR((4 * slope(d / 2) - slope(d)) / 3, exact, 1e-9 * sample_.stiffness()) << F;
  }
}

TEST_P(EveryMaterial, TangentIsTheDerivativeOfTheStress) {
  const bool held = GetParam()->kind() == Material::Kind::kLinearCorotational;
  for (int trial = 0; trial < 200; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    Matrix3d D = RandomDirection(&random_);
    // for a lagged rotation, use a stretch that leaves the rotation unchanged
    if (held) {
      const Matrix3d R = CalcPolarRotation(F), S = R.transpose() * F;
      D = R * (S + S.transpose()) / (2 * S.norm());
    }
    const double gap = RotationGap(F);
    if (gap < 0.1) continue;
    const Point at = sample_.At(F);
    EXPECT_LT((at.tangent - at.tangent.transpose()).norm(), 1e-12 * at.tangent.norm());
    const auto slope = [&](double d) -> Matrix3d {
      return (sample_.At(F + d * D).stress - sample_.At(F - d * D).stress) / (2 * d);
    };
    const double d = 1e-3 * gap;
    const Vector9d difference = AsVector((4 * slope(d / 2) - slope(d)) / 3);
    EXPECT_LT((difference - at.tangent * AsVector(D)).norm(), 1e-8 * sample_.stiffness()) << F;
  }
}

TEST_P(EveryMaterial, HasTheSameEnergyAndStressWhateverTangentIsAskedFor) {
  for (int trial = 0; trial < 200; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    const Point exact = sample_.At(F);
    for (const Tangent tangent :
         {Tangent::kNone, Tangent::kConvex, Tangent::kAbsolute, Tangent::kDamping}) {
      const Point at = sample_.At(F, tangent);
      const double stiffness = sample_.stiffness();
      EXPECT_NEAR(at.energy, exact.energy, 1e-13 * (stiffness + exact.energy)) << F;
      EXPECT_LT((at.stress - exact.stress).norm(), 1e-13 * (stiffness + exact.stress.norm())) << F;
    }
  }
}

TEST_P(EveryMaterial, ProjectedTangentsReplaceNegativeEigenvaluesAndKeepThePositiveOnes) {
  int indefinite = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    const Matrix9d exact = sample_.At(F).tangent;
    const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(exact);
    indefinite += eigen.eigenvalues()[0] < -1e-9 * sample_.stiffness();
    const Matrix9d& Q = eigen.eigenvectors();
    const auto with = [&](const Vector9d& eigenvalues) -> Matrix9d {
      return Q * eigenvalues.asDiagonal() * Q.transpose();
    };
    EXPECT_LT(
        (sample_.At(F, Tangent::kConvex).tangent - with(eigen.eigenvalues().cwiseMax(0))).norm(),
        1e-12 * exact.norm())
        << F;
    EXPECT_LT(
        (sample_.At(F, Tangent::kAbsolute).tangent - with(eigen.eigenvalues().cwiseAbs())).norm(),
        1e-12 * exact.norm())
        << F;
  }
  if (GetParam()->kind() == Material::Kind::kNonlinear) {
    EXPECT_GT(indefinite, 0);
  } else {
    // Proposition 1 of han2023, which covers inverted elements too
    EXPECT_EQ(indefinite, 0);
  }
}

TEST_P(NonlinearMaterial, DampingTangentIsConvexAndBlindToSpin) {
  for (int trial = 0; trial < 200; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    const Matrix9d damping = sample_.At(F, Tangent::kDamping).tangent;
    const double size = damping.norm();
    const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(damping);
    EXPECT_GE(eigen.eigenvalues()[0], -1e-14 * size);
    for (int axis = 0; axis < 3; ++axis) {
      Matrix3d spin;
      for (int c = 0; c < 3; ++c) spin.col(c) = Vector3d::Unit(axis).cross(F.col(c));
      EXPECT_LE((damping * AsVector(spin)).norm(), 1e-13 * size);
    }
    // the general construction gives the same
    LaneMatrix3 lanes;
    for (int l = 0; l < kLanes; ++l) Insert(F, l, &lanes);
    const Matrix9d convex = sample_.At(F, Tangent::kConvex).tangent;
    std::array<Lane, 81> general;
    for (int i = 0; i < 81; ++i) general[i] = Splat(convex.data()[i]);
    RemoveSpin(lanes, &general);
    for (int i = 0; i < 81; ++i)
      EXPECT_NEAR(general[i][0], damping.data()[i], 1e-13 * convex.norm());
  }
  const Matrix3d I = Matrix3d::Identity();
  EXPECT_LT((sample_.At(I, Tangent::kDamping).tangent - sample_.At(I).tangent).norm(),
            1e-14 * sample_.stiffness());
}

TEST_P(EveryMaterial, IsAtRestUndeformedAndHasAPositiveModulusThere) {
  const Point rest = sample_.At(Matrix3d::Identity());
  EXPECT_EQ(rest.energy, 0);
  EXPECT_LT(rest.stress.norm(), 1e-15 * sample_.stiffness());
  const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(rest.tangent);
  // the three rotations have no stiffness
  EXPECT_GT(eigen.eigenvalues()[0], -1e-12 * sample_.stiffness());
  EXPECT_GT(eigen.eigenvalues()[3], 1e-3 * sample_.stiffness());
}

TEST_P(InvariantMaterial, RotationsChangeNothingButTheFrame) {
  for (int trial = 0; trial < 50; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_), Q = RandomRotation(&random_);
    const Point a = sample_.At(F), b = sample_.At(Q * F);
    EXPECT_NEAR(a.energy, b.energy, 1e-12 * sample_.stiffness());
    EXPECT_LT((Q * a.stress - b.stress).norm(), 1e-12 * sample_.stiffness());
    EXPECT_LT(sample_.At(Q).stress.norm(), 1e-12 * sample_.stiffness());
  }
}

TEST_P(EveryMaterial, IsFiniteWhereNothingIsLeftOfTheElement) {
  Matrix3d line = Matrix3d::Zero();
  line(1, 2) = 0.7;
  for (const Matrix3d& F : {Matrix3d(Matrix3d::Zero()), line, Matrix3d(-Matrix3d::Identity()),
                            Matrix3d(Vector3d(1, 1, 0).asDiagonal())}) {
    const Point point = sample_.At(F, Tangent::kConvex);
    EXPECT_TRUE(std::isfinite(point.energy) && point.stress.allFinite() &&
                point.tangent.allFinite())
        << F;
  }
}

TEST(RestModuli, AreThoseOfTheParameters) {
  for (const char* name :
       {"LINEAR", "LINEAR_COROTATIONAL", "COROTATIONAL", "ST_VENANT_KIRCHHOFF", "NEO_HOOKEAN"}) {
    const RestModuli moduli = CalcRestModuli(*FindMaterial(name), std::vector<double>{2e5, 0.3});
    EXPECT_NEAR(moduli.youngs_modulus(), 2e5, 1e-6) << name;
    EXPECT_NEAR(moduli.poissons_ratio(), 0.3, 1e-12) << name;
  }
  const RestModuli rubber =
      CalcRestModuli(*FindMaterial("MOONEY_RIVLIN"), std::vector<double>{0.293e6, 0.177e6, 1410e6});
  EXPECT_NEAR(rubber.mu, 2 * (0.293e6 + 0.177e6), 1e-6);
  EXPECT_NEAR(rubber.lambda + 2.0 / 3 * rubber.mu, 1410e6, 1e-3);
}

TEST(Corotational, HasTheEnergyOfTheLinearOneWithTheRotationOfTheMoment) {
  const Sample lagged(FindMaterial("LINEAR_COROTATIONAL")), moving(FindMaterial("COROTATIONAL"));
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random);
    EXPECT_NEAR(lagged.At(F).energy, moving.At(F).energy, 1e-12 * lagged.stiffness());
    EXPECT_LT((lagged.At(F).stress - moving.At(F).stress).norm(), 1e-11 * lagged.stiffness());
  }
}

TEST_P(EveryMaterial, AnswersToAMeanRatioInClosedFormAsInGeneral) {
  LaneMatrix3 lanes;
  const Material& material = *GetParam();
  Lane p[kMaxParameters] = {};
  for (std::size_t i = 0; i < material.parameters().size(); ++i)
    p[i] = Splat(material.parameters()[i].example);
  if (material.CalcVolumetricStiffness(p)[0] == 0) return;
  for (int trial = 0; trial < 60; ++trial) {
    const Matrix3d F = RandomDeformation(trial % 2 == 1, &random_);
    for (int l = 0; l < kLanes; ++l) Insert(F, l, &lanes);
    for (const Tangent tangent :
         {Tangent::kExact, Tangent::kConvex, Tangent::kAbsolute, Tangent::kDamping}) {
      MaterialResponse closed, general;
      const Lane mean = Splat(1 + 0.1 * (trial % 5 - 2));
      material.RespondToMean(p, lanes, mean, tangent, &closed);
      material.Material::RespondToMean(p, lanes, mean, tangent, &general);
      double size = 0;
      for (const Lane& x : general.tangent) size = std::max(size, std::abs(x[0]));
      EXPECT_NEAR(closed.energy[1], general.energy[1], 1e-12 * size);
      for (int i = 0; i < 9; ++i)
        EXPECT_NEAR(closed.stress[i][2], general.stress[i][2], 1e-12 * size);
      // clamping and removing spin do not commute where spin and shear mix
      if (tangent == Tangent::kDamping) continue;
      for (int i = 0; i < 81; ++i)
        EXPECT_NEAR(closed.tangent[i][3], general.tangent[i][3], 1e-11 * size);
    }
  }
}

TEST(ProjectEigenvalues, AgreesWithTheClosedForm) {
  const Sample sample(FindMaterial("NEO_HOOKEAN"));
  std::mt19937 random(23);
  for (int trial = 0; trial < 50; ++trial) {
    const Matrix3d F = RandomDeformation(true, &random);
    const Matrix9d exact = sample.At(F).tangent;
    for (const Tangent kind : {Tangent::kConvex, Tangent::kAbsolute}) {
      const Matrix9d closed = sample.At(F, kind).tangent;
      std::array<Lane, 81> general;
      for (int i = 0; i < 81; ++i) general[i] = Splat(exact.data()[i]);
      ProjectEigenvalues(kind, &general);
      for (int i = 0; i < 81; ++i)
        EXPECT_NEAR(general[i][2], closed.data()[i], 1e-12 * exact.norm());
    }
  }
}

TEST(PrincipalStretches, GiveTheMatrixBackInOrderWithRotations) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 500; ++trial) {
    LaneMatrix3 F;
    for (Lane& entry : F) {
      for (int l = 0; l < kLanes; ++l) entry[l] = normal(random);
    }
    // nearly equal, equal, tiny and zero stretches
    const Matrix3d R = RandomRotation(&random);
    if (trial % 4 == 0) Insert(R, 0, &F);
    if (trial % 4 == 1) Insert(R * Vector3d(1 + 1e-9, 1, 1 - 1e-12).asDiagonal(), 1, &F);
    if (trial % 4 == 2) Insert(R * Vector3d(1, 1e-9, -1e-10).asDiagonal() * R, 2, &F);
    if (trial % 4 == 3) Insert(R * Vector3d(1, 0, 0).asDiagonal(), 3, &F);
    const PrincipalStretches f = CalcPrincipalStretches(F);
    for (int l = 0; l < kLanes; ++l) {
      const Matrix3d U = Extract(f.U, l), V = Extract(f.V, l), A = Extract(F, l);
      const Vector3d s(f.s[0][l], f.s[1][l], f.s[2][l]);
      EXPECT_LT((U * s.asDiagonal() * V.transpose() - A).norm(), 4e-15 * A.norm());
      EXPECT_LT((U.transpose() * U - Matrix3d::Identity()).norm(), 1e-14);
      EXPECT_LT((V.transpose() * V - Matrix3d::Identity()).norm(), 1e-14);
      EXPECT_GT(U.determinant(), 0);
      EXPECT_GT(V.determinant(), 0);
      // sorted, up to rounding of equal ones
      EXPECT_GE(s[0], s[1] * (1 - 1e-15));
      EXPECT_GE(s[1], std::abs(s[2]) * (1 - 1e-15));
    }
  }
}

TEST(PrincipalStretches, WhatIsNotFiniteDoesNotComeBackAsANumber) {
  LaneMatrix3 F{};
  for (int i = 0; i < 3; ++i) F[4 * i] = Splat(1);
  F[2][1] = std::numeric_limits<double>::infinity();
  const PrincipalStretches f = CalcPrincipalStretches(F);
  EXPECT_TRUE(std::isnan(f.s[0][1]));
  // other lanes are not affected
  EXPECT_EQ(f.s[0][0], 1);
  EXPECT_EQ(f.s[2][3], 1);
}

// An energy without closed forms for pairs of stretches: μ Σ (s_i − 1)⁴ + λ/2 (J − 1)².
class Quartic final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "QUARTIC"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  void RespondToStretches(const Lane*, const Lane s[3], PrincipalResponse* r) const override {
    const Lane J = s[0] * s[1] * s[2];
    r->energy = 0.5 * (J - 1) * (J - 1);
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const Lane e = s[k] - 1, cofactor = s[i] * s[j];
      r->energy += e * e * e * e;
      r->stress[k] = 4 * e * e * e + (J - 1) * cofactor;
      r->stiffness[k][k] = 12 * e * e + cofactor * cofactor;
      r->stiffness[i][j] = r->stiffness[j][i] = s[j] * s[k] * s[k] * s[i] + (J - 1) * s[k];
    }
    DividePairs(s, r);
  }
};

TEST(IsotropicMaterial, PairsAreDividedWhereStretchesDifferAndWhereTheyCoincide) {
  const Quartic quartic;
  const Sample sample(&quartic);
  std::mt19937 random(9);
  for (int trial = 0; trial < 200; ++trial) {
    Vector3d s(1.3, 1.3 - 1e-5, 0.8);
    if (trial % 4 == 0) s[1] = s[0];
    if (trial % 4 == 1) s[1] = s[0] - 1e-7;
    if (trial % 4 == 2) s = {1.3, 1.1, 0.8};
    const Matrix3d F = RandomRotation(&random) * s.asDiagonal() * RandomRotation(&random);
    const Matrix3d D = RandomDirection(&random);
    const auto slope = [&](double d) -> Matrix3d {
      return (sample.At(F + d * D).stress - sample.At(F - d * D).stress) / (2 * d);
    };
    const Vector9d difference = AsVector((4 * slope(5e-4) - slope(1e-3)) / 3);
    EXPECT_LT((difference - sample.At(F).tangent * AsVector(D)).norm(), 1e-8);
  }
}

}  // namespace
}  // namespace pliant::physics
