// Properties that every registered particle material must have, tested at random states and
// displacement gradients, with the corrections to zong2024 and without.

#include "physics/mpm/materials/particle_material.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/physics/mpm/materials/random_particle.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

using MaterialAndVariant = std::tuple<const ParticleMaterial*, bool>;

class EveryParticleMaterial : public testing::TestWithParam<MaterialAndVariant> {
 protected:
  const ParticleMaterial& material() const { return *std::get<0>(GetParam()); }
  bool is_corrected() const { return std::get<1>(GetParam()); }
  // Strains of trial k: below the yield strain of the examples, about it, and far beyond it.
  static double Strain(int k) { return k % 3 == 0 ? 3e-3 : k % 3 == 1 ? 2e-2 : 0.5; }

  Particle particle_{std::get<0>(GetParam()), std::get<1>(GetParam())};
  std::mt19937 random_{17};
};

INSTANTIATE_TEST_SUITE_P(Registered, EveryParticleMaterial,
                         testing::Combine(testing::ValuesIn(AllParticleMaterials().begin(),
                                                            AllParticleMaterials().end()),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name()) +
                                  (std::get<1>(info.param) ? "_CORRECTED" : "_PAPER");
                         });

TEST_P(EveryParticleMaterial, IsFoundByItsNameAndHasExamples) {
  EXPECT_EQ(FindParticleMaterial(material().name()), &material());
  EXPECT_EQ(FindParticleMaterial("GRANITE"), nullptr);
  ASSERT_LE(material().parameters().size(), std::size_t{kMaxParticleParameters});
  for (const ParticleParameter& p : material().parameters()) {
    EXPECT_FALSE(p.expected.empty());
    for (const double value : {p.example, std::isnan(p.fallback) ? p.example : p.fallback}) {
      EXPECT_LE(p.smallest, value);
      EXPECT_GE(p.largest, value);
      if (p.is_integer) {
        EXPECT_EQ(value, std::round(value));
      }
    }
  }
}

TEST_P(EveryParticleMaterial, StressAndTangentAreTheDerivativesOfTheEnergy) {
  int compared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const double strain = Strain(trial);
    particle_.StartRandomly(strain, &random_);
    const Matrix3d H = RandomMatrix(strain, &random_), D = RandomMatrix(1, &random_);
    const double d = 1e-3 * strain;
    const ParticleResponse at = particle_.At(H), before = particle_.At(H - d * D),
                           after = particle_.At(H + d * D);
    const double stiffness = at.tangent.norm();
    EXPECT_LT((at.tangent - at.tangent.transpose()).norm(), 1e-14 * stiffness);
    // not across the onset of yield, where the tangent jumps, nor where it is projected
    if ((after.tangent - before.tangent).norm() > 0.05 * stiffness || at.is_projected) continue;
    ++compared;
    // extrapolated central differences: the error is of fourth order in d, plus rounding over d
    const auto slope = [&](double step) {
      return (particle_.At(H + step * D).energy - particle_.At(H - step * D).energy) / (2 * step);
    };
    EXPECT_NEAR((4 * slope(d / 2) - slope(d)) / 3, at.stress.cwiseProduct(D).sum(),
                1e-8 * strain * stiffness)
        << H;
    const auto change = [&](double step) -> Matrix3d {
      return (particle_.At(H + step * D).stress - particle_.At(H - step * D).stress) / (2 * step);
    };
    const Vector9d difference = AsVector((4 * change(d / 2) - change(d)) / 3);
    EXPECT_LT((difference - at.tangent * AsVector(D)).norm(), 1e-8 * stiffness) << H;
  }
  // where negative eigenvalues are dropped, the tangent is not the derivative
  EXPECT_GT(compared, particle_.material().is_convex() ? 150 : 100);
}

TEST_P(EveryParticleMaterial, CurvatureOnALineIsTheDerivativeOfTheStressEvenWhereItIsNegative) {
  int compared = 0, negative = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const double strain = Strain(trial);
    particle_.StartRandomly(strain, &random_);
    const Matrix3d H = RandomMatrix(strain, &random_), D = RandomMatrix(1, &random_);
    const double d = 1e-3 * strain;
    const ParticleResponse at = particle_.At(H);
    ParticleResponse on_line, unused;
    const double curvature = particle_.OnLine(H, D, &on_line);
    EXPECT_NEAR(on_line.energy, at.energy, 1e-13 * (at.energy + at.stress.norm()));
    EXPECT_LT((on_line.stress - at.stress).norm(), 1e-13 * at.tangent.norm());
    // not across the onset of yield, where it jumps
    const double stiffness = at.tangent.norm(),
                 jump = particle_.OnLine(H + d * D, D, &unused) - curvature;
    if (std::abs(jump) > 0.05 * stiffness) continue;
    ++compared;
    negative += curvature < 0;
    const auto change = [&](double step) {
      return (particle_.At(H + step * D).stress - particle_.At(H - step * D).stress)
                 .cwiseProduct(D)
                 .sum() /
             (2 * step);
    };
    EXPECT_NEAR((4 * change(d / 2) - change(d)) / 3, curvature, 1e-8 * stiffness) << H;
  }
  EXPECT_GT(compared, 150);
  EXPECT_EQ(negative > 0, !material().is_convex());
}

TEST_P(EveryParticleMaterial, TangentHasNoNegativeEigenvalue) {
  int projected = 0;
  for (int trial = 0; trial < 300; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    const Matrix3d H = RandomMatrix(4 * Strain(trial), &random_);
    const ParticleResponse r = particle_.At(H), far = particle_.At(H, ParticleTangent::kAbsolute);
    projected += r.is_projected;
    EXPECT_EQ(far.tangent == r.tangent, !r.is_projected);
    for (const Matrix9d& tangent : {r.tangent, far.tangent}) {
      const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(tangent);
      EXPECT_GE(eigen.eigenvalues()[0], -1e-12 * eigen.eigenvalues()[8]);
    }
  }
  // only where the energy is not convex is there something to project
  EXPECT_EQ(projected > 0, !material().is_convex());
}

// The energy without its function of the dilation is quadratic: it has the same tangent everywhere,
// and changes of stress and energy follow from that tangent.
TEST_P(EveryParticleMaterial, IsQuadraticButForDilationIfItSaysSo) {
  const Matrix3d I = Matrix3d::Identity();
  const Vector9d unit = AsVector(I);
  bool is_any_nonlinear = false;
  for (int trial = 0; trial < 100; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    const Matrix3d A = RandomMatrix(Strain(trial), &random_),
                   B = RandomMatrix(Strain(trial), &random_);
    const ParticleResponse at_A = particle_.At(A), at_B = particle_.At(B);
    if (!material().is_quadratic_but_for_dilation()) {
      EXPECT_EQ(particle_.AtDilation(A.trace()).curvature, 0);
      continue;
    }
    const DilationResponse of_A = particle_.AtDilation(A.trace()),
                           of_B = particle_.AtDilation(B.trace());
    is_any_nonlinear = is_any_nonlinear || of_A.curvature != of_B.curvature;
    const Matrix9d tangent = at_A.tangent - of_A.curvature * unit * unit.transpose();
    const double stiffness = at_A.tangent.norm() + at_B.tangent.norm();
    EXPECT_LT((at_B.tangent - of_B.curvature * unit * unit.transpose() - tangent).norm(),
              1e-13 * stiffness);
    const Matrix3d stress = at_B.stress - of_B.slope * I - (at_A.stress - of_A.slope * I);
    EXPECT_LT((AsVector(stress) - tangent * AsVector(B - A)).norm(),
              1e-13 * stiffness * (A.norm() + B.norm()));
    const double mean = 0.5 * (AsVector(at_A.stress + at_B.stress).dot(AsVector(B - A)) -
                               (of_A.slope + of_B.slope) * (B - A).trace());
    EXPECT_NEAR(at_B.energy - of_B.energy - (at_A.energy - of_A.energy), mean,
                1e-13 * stiffness * (A.squaredNorm() + B.squaredNorm()));
  }
  EXPECT_EQ(is_any_nonlinear, material().is_quadratic_but_for_dilation());
}

// Gradients of a convex function are monotone, however far apart.
TEST_P(EveryParticleMaterial, IsConvexIfItSaysSo) {
  int violated = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    const Matrix3d A = RandomMatrix(4 * Strain(trial), &random_);
    const Matrix3d B = trial % 2 == 0 ? RandomMatrix(4 * Strain(trial), &random_)
                                      : Matrix3d(A + RandomMatrix(1e-2, &random_));
    const Matrix3d P = particle_.At(A).stress, Q = particle_.At(B).stress;
    const double rounding = 1e-12 * (P.norm() + Q.norm()) * (A - B).norm();
    violated += (P - Q).cwiseProduct(A - B).sum() < -rounding;
  }
  if (material().is_convex()) {
    EXPECT_EQ(violated, 0);
  } else {
    EXPECT_GT(violated, 0);
  }
}

TEST_P(EveryParticleMaterial, IsQuadraticIfItSaysSo) {
  bool changes = false;
  for (int trial = 0; trial < 30; ++trial) {
    particle_.StartRandomly(0.3, &random_);
    const Matrix9d at_rest = particle_.At(Matrix3d::Zero()).tangent;
    const Matrix9d moved = particle_.At(RandomMatrix(0.3, &random_)).tangent;
    changes = changes || (moved - at_rest).norm() > 1e-14 * at_rest.norm();
  }
  EXPECT_EQ(changes, !material().is_quadratic(is_corrected()));
}

// Steps omit the difference of a particle's energy from its quadratic expansion where the material
// reports that there is none.
TEST_P(EveryParticleMaterial, IsQuadraticBetweenPointsIfItSaysSo) {
  int said = 0;
  for (int trial = 0; trial < 300; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    const Matrix3d A = RandomMatrix(0.1 * Strain(trial), &random_),
                   B = RandomMatrix(0.1 * Strain(trial), &random_), D = B - A;
    if (!material().IsQuadraticBetween(particle_.p().data(), particle_.start(), A, B)) continue;
    ++said;
    const ParticleResponse a = particle_.At(A), b = particle_.At(B);
    const Vector9d linear = a.tangent * AsVector(D);
    EXPECT_LT((b.tangent - a.tangent).norm(), 1e-14 * a.tangent.norm());
    EXPECT_LT((AsVector(b.stress - a.stress) - linear).norm(), 1e-13 * a.tangent.norm());
    EXPECT_NEAR(b.energy, a.energy + (AsVector(a.stress) + 0.5 * linear).dot(AsVector(D)),
                1e-13 * a.tangent.norm());
  }
  // dough is elastic in the third of the trials whose strain is small, and in some of those about
  // the yield strain; no other material is quadratic in parts
  const bool is_dough = material().name() == "VON_MISES";
  EXPECT_GE(said, is_dough ? 100 : 0);
  EXPECT_LE(said, is_dough ? 200 : 0);
}

TEST_P(EveryParticleMaterial, IsAtRestUndeformed) {
  const ParticleState rest;
  const Matrix3d none = Matrix3d::Zero();
  const double stiffness = particle_.At(none).tangent.norm();
  EXPECT_EQ(particle_.At(none).energy, 0);
  EXPECT_LT(particle_.At(none).stress.norm(), 1e-15 * stiffness);
  EXPECT_EQ(particle_.Energy(rest), 0);
  EXPECT_LT(particle_.Stress(rest).norm(), 1e-15 * stiffness);
  // resists compression
  EXPECT_GT(AsVector(Matrix3d::Identity())
                .dot(particle_.At(none).tangent * AsVector(Matrix3d::Identity())),
            1e-3 * stiffness);
}

TEST_P(EveryParticleMaterial, DoesNotDependOnTheFrame) {
  for (int trial = 0; trial < 60; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    const ParticleState state = particle_.start().state;
    const Matrix3d H = RandomMatrix(Strain(trial), &random_), Q = RandomRotation(&random_);
    const ParticleResponse r = particle_.At(H);
    const ParticleState end = particle_.After(H);
    ParticleState turned = state;
    turned.F = Q * state.F;
    turned.C = Q * state.C * Q.transpose();
    particle_.Start(turned);
    const ParticleResponse turned_r = particle_.At(Q * H * Q.transpose());
    const ParticleState turned_end = particle_.After(Q * H * Q.transpose());
    const double stiffness = r.tangent.norm();
    EXPECT_NEAR(turned_r.energy, r.energy, 1e-12 * stiffness);
    EXPECT_LT((turned_r.stress - Q * r.stress * Q.transpose()).norm(), 1e-12 * stiffness);
    EXPECT_LT((turned_end.F - (material().is_liquid() ? Q * state.F : Q * end.F)).norm(), 1e-12);
    EXPECT_NEAR(turned_end.J, end.J, 1e-12);
    EXPECT_NEAR(turned_end.plastic_strain, end.plastic_strain, 1e-12);
    EXPECT_NEAR(particle_.Energy(turned_end), particle_.Energy(end), 1e-12 * stiffness);
    // Cauchy's stress of a particle without volume has no digits
    if (end.F.determinant() < 0.1) continue;
    EXPECT_LT((particle_.Stress(turned_end) - Q * particle_.Stress(end) * Q.transpose()).norm(),
              1e-11 * stiffness);
  }
}

// One step turns the particle by half a radian, as C predicts.
TEST_P(EveryParticleMaterial, RotationLeavesNoElasticStress) {
  const Matrix3d turn = Eigen::AngleAxisd(0.5, Vector3d(1, 2, -1).normalized()).toRotationMatrix();
  const Matrix3d H = turn - Matrix3d::Identity();
  const double stiffness = particle_.At(Matrix3d::Zero()).tangent.norm();
  for (int trial = 0; trial < 20; ++trial) {
    ParticleState state;
    state.F = RandomRotation(&random_);
    state.C = H / particle_.start().h;
    particle_.Start(state);
    const ParticleState end = particle_.After(H);
    if (is_corrected()) {
      if (!material().is_liquid()) {
        EXPECT_LT(particle_.At(H).stress.norm(), 1e-13 * stiffness);
        EXPECT_LT((end.F - turn * state.F).norm(), 1e-14);
      }
      EXPECT_NEAR(end.J, 1, 1e-14);
      EXPECT_EQ(end.plastic_strain, 0);
      EXPECT_NEAR(particle_.Energy(end), 0, 1e-13 * stiffness);
    } else if (material().is_convex()) {
      // published: the trace of H or of R0ᵀ H R0, 2 (cos 0.5 − 1), is taken for a change of volume
      EXPECT_GT(particle_.At(H).stress.norm(), 1e-2 * stiffness);
    }
  }
}

TEST_P(EveryParticleMaterial, CauchyStressIsTheDerivativeOfTheEnergyByDisplacement) {
  for (int trial = 0; trial < 60; ++trial) {
    particle_.StartRandomly(Strain(trial), &random_);
    ParticleState state = particle_.start().state;
    state.C.setZero();
    const Matrix3d D = RandomMatrix(1, &random_);
    const auto energy = [&](double d) {
      ParticleState moved = state;
      moved.F += d * D * state.F;
      moved.J *= (Matrix3d::Identity() + d * D).determinant();
      return particle_.Energy(moved);
    };
    const auto slope = [&](double d) { return (energy(d) - energy(-d)) / (2 * d); };
    const double d = 1e-3 * Strain(trial);
    const Matrix3d stress = particle_.Stress(state);
    EXPECT_TRUE(stress == stress.transpose());
    const double volume = material().is_liquid() ? state.J : state.F.determinant();
    const double stiffness = particle_.At(Matrix3d::Zero()).tangent.norm();
    EXPECT_NEAR((4 * slope(d / 2) - slope(d)) / 3, volume * stress.cwiseProduct(D).sum(),
                1e-7 * Strain(trial) * stiffness);
  }
}

TEST_P(EveryParticleMaterial, SoundSpeedIsThatOfTheUniaxialModulus) {
  const auto energy = [&](double d) {
    ParticleState state;
    state.F(0, 0) = state.J = 1 + d;
    return particle_.Energy(state);
  };
  // second differences: the error is the fourth derivative times d²/12, at most 60 moduli, plus
  // the rounding of energies of 1e-16 moduli over d²
  const double d = 1e-4, modulus = (energy(d) + energy(-d) - 2 * energy(0)) / (d * d);
  const double speed = particle_.SoundSpeed(1200);
  EXPECT_NEAR(1200 * speed * speed, modulus, 1e-6 * modulus);
}

TEST_P(EveryParticleMaterial, IsFiniteWhereverNewtonStartsIt) {
  std::vector<Matrix3d> gradients = {Matrix3d::Zero(), -Matrix3d::Identity(),
                                     -2 * Matrix3d::Identity(),
                                     Vector3d(0, 0, -1).asDiagonal().toDenseMatrix()};
  for (int i = 0; i < 20; ++i) gradients.push_back(RandomMatrix(20, &random_));
  Matrix3d line = Matrix3d::Zero();
  line(1, 2) = 0.7;
  for (const Matrix3d& F :
       {Matrix3d(Matrix3d::Identity()), Matrix3d(Matrix3d::Zero()), line,
        Matrix3d(-Matrix3d::Identity()), Matrix3d(Vector3d(1, 1, 0).asDiagonal()),
        Matrix3d(Vector3d(2, 1, -1e-9).asDiagonal())}) {
    ParticleState state;
    state.F = F;
    state.C = RandomMatrix(200, &random_);
    particle_.Start(state);
    for (const Matrix3d& H : gradients) {
      const ParticleResponse r = particle_.At(H);
      EXPECT_TRUE(std::isfinite(r.energy) && r.stress.allFinite() && r.tangent.allFinite());
      const ParticleState end = particle_.After(H);
      EXPECT_TRUE(end.F.allFinite() && std::isfinite(end.J) && std::isfinite(end.plastic_strain));
      EXPECT_TRUE(std::isfinite(particle_.Energy(end)) && particle_.Stress(end).allFinite());
      EXPECT_GE(end.plastic_strain, 0);
      EXPECT_GT(end.J, 0);
    }
  }
}

TEST(ParticleMaterials, HaveTheNamesOfScenes) {
  const auto names = [](const char* material) {
    std::vector<std::string_view> found;
    for (const ParticleParameter& p : FindParticleMaterial(material)->parameters())
      found.push_back(p.name);
    return found;
  };
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(names("LINEAR_COROTATIONAL"), (Names{"youngs_modulus", "poissons_ratio"}));
  EXPECT_EQ(names("NEO_HOOKEAN"), (Names{"youngs_modulus", "poissons_ratio"}));
  EXPECT_EQ(names("VON_MISES"), (Names{"youngs_modulus", "poissons_ratio", "yield_stress"}));
  EXPECT_EQ(names("LIQUID"), (Names{"bulk_modulus", "gamma", "viscosity"}));
}

// With H = h C, as predicted, the convex energy is that of the state that the step ends in.
TEST(CorrectedParticles, EnergyOfThePredictedStepIsThatOfItsEnd) {
  std::mt19937 random(5);
  for (const char* name : {"LINEAR_COROTATIONAL", "VON_MISES", "LIQUID", "NEO_HOOKEAN"}) {
    Particle particle(FindParticleMaterial(name), true);
    if (name == std::string("LIQUID")) particle.p()[2] = 0;
    if (name == std::string("VON_MISES")) particle.p()[2] = 1e15;
    for (int trial = 0; trial < 50; ++trial) {
      particle.StartRandomly(0.4, &random);
      const Matrix3d H = particle.start().h * particle.start().state.C;
      const ParticleState end = particle.After(H);
      // torn apart: it is stretched no further
      if (particle.material().is_liquid() && end.J >= 1.1) continue;
      const double energy = particle.Energy(end);
      EXPECT_NEAR(particle.At(H).energy, energy, 1e-12 * energy) << name;
    }
  }
}

}  // namespace
}  // namespace pliant::physics
