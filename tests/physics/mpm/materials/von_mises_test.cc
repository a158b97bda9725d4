// Yield, return mapping and plastic strain of VON_MISES.

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/physics/mpm/materials/random_particle.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kYield = 1500, kYoung = 2e4, kPoisson = 0.49;
const double kMu = kYoung / (2 * (1 + kPoisson));
const double kRho = std::sqrt(2.0 / 3) * kYield / (2 * kMu);  // yield strain

Matrix3d Deviator(const Matrix3d& A) {
  return A - A.trace() / 3 * Matrix3d::Identity();
}

// Dough in a step that starts at this F.
Particle MakeDough(bool is_corrected, const Matrix3d& F = Matrix3d::Identity()) {
  Particle dough(FindParticleMaterial("VON_MISES"), is_corrected);
  dough.p() = {kYoung, kPoisson, kYield};
  ParticleState state;
  state.F = F;
  dough.Start(state);
  return dough;
}

Vector3d CalcStretches(const Matrix3d& F) {
  return F.jacobiSvd().singularValues();
}

// Polar rotation and stretch, by the singular value decomposition; det F > 0.
std::pair<Matrix3d, Matrix3d> Polar(const Matrix3d& F) {
  const Eigen::JacobiSVD<Matrix3d> svd(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {svd.matrixU() * svd.matrixV().transpose(),
          svd.matrixV() * svd.singularValues().asDiagonal() * svd.matrixV().transpose()};
}

// A trial F that yields: stretches of 0.5 to 1.5.
Matrix3d RandomTrial(std::mt19937* random) {
  for (;;) {
    const Matrix3d F = RandomDeformation(0.5, random);
    if (Deviator(CalcStretches(F).asDiagonal()).norm() > 1.1 * kRho) return F;
  }
}

TEST(VonMises, IsLinearCorotationalBelowYield) {
  std::mt19937 random(1);
  for (const bool is_corrected : {true, false}) {
    Particle dough = MakeDough(is_corrected);
    Particle elastic(FindParticleMaterial("LINEAR_COROTATIONAL"), is_corrected);
    elastic.p() = {kYoung, kPoisson};
    for (int trial = 0; trial < 50; ++trial) {
      dough.StartRandomly(0.2 * kRho, &random);
      elastic.Start(dough.start().state);
      const Matrix3d H = RandomMatrix(0.2 * kRho, &random);
      const ParticleResponse a = dough.At(H), b = elastic.At(H);
      EXPECT_NEAR(a.energy, b.energy, 1e-12 * b.energy);
      EXPECT_LT((a.stress - b.stress).norm(), 1e-13 * b.tangent.norm());
      EXPECT_LT((a.tangent - b.tangent).norm(), 1e-14 * b.tangent.norm());
      EXPECT_TRUE(dough.After(H).F == elastic.After(H).F);
      EXPECT_EQ(dough.After(H).plastic_strain, 0);
    }
  }
}

TEST(VonMises, EquivalentStressIsTheYieldStressHoweverFarTheStep) {
  std::mt19937 random(2);
  const Particle dough = MakeDough(true);
  for (int trial = 0; trial < 100; ++trial) {
    const Matrix3d H = RandomMatrix(0.1 + 0.1 * trial, &random);
    if (Deviator(0.5 * (H + H.transpose())).norm() < kRho) continue;
    const Matrix3d deviator = Deviator(dough.At(H).stress);
    // rounding of a mean stress of up to 6e6
    EXPECT_NEAR(std::sqrt(1.5) * deviator.norm(), kYield, 1e-11 * kYield);
  }
  // as published, the stress of the step exceeds it without bound
  const ParticleResponse paper = MakeDough(false).At(Vector3d(10, -5, -5).asDiagonal());
  EXPECT_GT(std::sqrt(1.5) * Deviator(paper.stress).norm(), 50 * kYield);
}

// Quadratic up to ρ, linear beyond, with the slope of the quadratic part at ρ.
TEST(VonMises, EnergyIsTheMoreauEnvelope) {
  const Particle dough = MakeDough(true);
  const Vector3d shear(std::sqrt(0.5), -std::sqrt(0.5), 0);  // a deviator of norm 1
  for (const double s : {0.0, 0.3, 0.999, 1.001, 2.0, 30.0}) {
    double least = INFINITY;
    for (int k = 0; k <= 40'000; ++k) {
      const double flow = 1e-3 * k * kRho;
      least = std::min(least, kMu * (s * kRho - flow) * (s * kRho - flow) + 2 * kMu * kRho * flow);
    }
    // flows are 1e-3 ρ apart: the minimum is found to μ (1e-3 ρ)²
    EXPECT_NEAR(dough.At((s * kRho * shear).asDiagonal()).energy, least, 1e-6 * kMu * kRho * kRho)
        << s;
  }
}

// Newton's method has an estimate of the direction of flow. With the direction itself, the tangent
// is the exact one, and with any estimate it has no negative eigenvalue.
TEST(VonMises, TangentAlongTheFlowIsExactAtTheSolution) {
  const ParticleMaterial& material = *FindParticleMaterial("VON_MISES");
  std::mt19937 random(8);
  Particle dough = MakeDough(true);
  for (int trial = 0; trial < 50; ++trial) {
    dough.StartRandomly(0.3, &random);
    const double* p = dough.p().data();
    const Matrix3d H = RandomMatrix(0.5, &random);
    const ParticleResponse exact = dough.At(H);
    // an update by nothing keeps the direction at H, wherever it starts from
    Matrix3d flow = Matrix3d::Zero();
    material.AdvanceFlow(p, dough.start(), H, Matrix3d::Zero(), &flow);
    EXPECT_NEAR(flow.norm(), 1, 1e-12);
    EXPECT_NEAR(flow.trace(), 0, 1e-12);
    ParticleResponse response;
    material.RespondAlongFlow(p, dough.start(), H, flow, &response);
    EXPECT_EQ(response.energy, exact.energy);
    EXPECT_EQ(response.stress, exact.stress);
    EXPECT_LT((response.tangent - exact.tangent).norm(), 1e-12 * exact.tangent.norm());

    const Matrix3d other = Deviator(RandomMatrix(1, &random));
    material.RespondAlongFlow(p, dough.start(), H, 0.5 * (other + other.transpose()), &response);
    EXPECT_EQ(response.tangent, Matrix9d(response.tangent.transpose()));
    const Eigen::SelfAdjointEigenSolver<Matrix9d> eigen(response.tangent);
    EXPECT_GT(eigen.eigenvalues()[0], -1e-12 * eigen.eigenvalues()[8]);
  }
}

// The update is Newton's for ‖dev ε‖ N = dev ε: its error is of second order in the step.
TEST(VonMises, FlowFollowsTheStrainToFirstOrder) {
  const ParticleMaterial& material = *FindParticleMaterial("VON_MISES");
  std::mt19937 random(9);
  Particle dough = MakeDough(true);
  for (int trial = 0; trial < 20; ++trial) {
    dough.StartRandomly(0.3, &random);
    const double* p = dough.p().data();
    const Matrix3d H = RandomMatrix(0.5, &random), along = RandomMatrix(0.5, &random);
    const auto error = [&](double size) {
      Matrix3d flow = Matrix3d::Zero(), expected = Matrix3d::Zero();
      material.AdvanceFlow(p, dough.start(), H, Matrix3d::Zero(), &flow);
      material.AdvanceFlow(p, dough.start(), H, size * along, &flow);
      material.AdvanceFlow(p, dough.start(), H + size * along, Matrix3d::Zero(), &expected);
      return (flow - expected).norm();
    };
    EXPECT_LT(error(1e-4), 0.02 * error(1e-3));
    EXPECT_LT(error(1e-3), 1e-3);
  }
}

TEST(VonMises, ReturnEndsOnTheYieldSurfaceWithVolumeAndDirectionsKept) {
  std::mt19937 random(3);
  int yielded = 0;
  for (int trial = 0; trial < 200; ++trial) {
    // not compressed, as below
    const Matrix3d shape = RandomTrial(&random), F = shape / std::cbrt(shape.determinant());
    if (Deviator(CalcStretches(F).asDiagonal()).norm() < kRho) continue;
    ++yielded;
    // half of the trial in the state, the rest in the step
    const Matrix3d before = 0.5 * (Polar(F).first + F);
    const Particle dough = MakeDough(true, before);
    const ParticleState end = dough.After(F * before.inverse() - Matrix3d::Identity());
    const auto [R, S] = Polar(F);
    const auto [R_end, S_end] = Polar(end.F);
    EXPECT_NEAR(Deviator(S_end).norm(), kRho, 1e-13);
    EXPECT_NEAR(end.F.determinant(), F.determinant(), 2e-14 * F.determinant());
    EXPECT_LT((R_end - R).norm(), 1e-13);
    // a positive multiple of the same deviator
    EXPECT_LT((Deviator(S_end) / kRho - Deviator(S) / Deviator(S).norm()).norm(), 1e-12);
    EXPECT_NEAR(end.plastic_strain, std::sqrt(2.0 / 3) * (Deviator(S).norm() - kRho), 1e-13);
  }
  EXPECT_GT(yielded, 150);
}

TEST(VonMises, ReturnIsDoneOnce) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    Particle dough = MakeDough(true);
    const ParticleState once = dough.After(RandomTrial(&random) - Matrix3d::Identity());
    dough.Start(once);
    const ParticleState twice = dough.After(Matrix3d::Zero());
    EXPECT_LT((twice.F - once.F).norm(), 1e-14);
    EXPECT_NEAR(twice.plastic_strain, once.plastic_strain, 1e-14);
    EXPECT_GE(twice.plastic_strain, once.plastic_strain);
  }
}

TEST(VonMises, ReturnKeepsTheVolumeOfExtremeTrials) {
  for (const Vector3d& s : {Vector3d(50, 1, 1), Vector3d(3, 0.01, 2), Vector3d(1, 1, 1e-6),
                            Vector3d(1, 1e-3, 1e-3), Vector3d(1e-3, 2e-3, 0.3)}) {
    const Particle dough = MakeDough(true);
    const ParticleState end = dough.After(Matrix3d(s.asDiagonal()) - Matrix3d::Identity());
    const Vector3d stretches = end.F.diagonal();
    EXPECT_GT(stretches.minCoeff(), 0) << s.transpose();
    // the determinant of stretches that differ by ρ is known to 1e-16 ρ³
    const double rounding = 1e-14 * s.prod() + 1e-16;
    EXPECT_GE(stretches.prod(), s.prod() - rounding) << s.transpose();
    // unless this stores energy, as compression does
    if (s.sum() > 3) {
      EXPECT_NEAR(stretches.prod(), s.prod(), rounding) << s.transpose();
    }
    EXPECT_NEAR(Deviator(end.F).norm(), kRho, 1e-13) << s.transpose();
  }
}

// Compression with free sides to 60 % of the height, in small and in large steps. The stress of a
// step is the yield stress, however large the step. The plastic strain is the logarithmic one less
// its elastic part. The volume stays.
TEST(VonMises, SpecimenIsCompressedAtItsYieldStress) {
  for (const int steps : {500, 20}) {
    Particle dough = MakeDough(true);
    double height = 1;
    for (int k = 0; k < steps; ++k) {
      const double next = 1 - 0.4 * (k + 1) / steps, vertical = next / height - 1;
      height = next;
      // the displacement at which the sides are free, by bisection
      double low = -1, high = 3;
      for (int i = 0; i < 100; ++i) {
        const double sides = 0.5 * (low + high);
        const double stress =
            dough.At(Vector3d(sides, sides, vertical).asDiagonal(), ParticleTangent::kNone)
                .stress(0, 0);
        (stress > 0 ? high : low) = sides;
      }
      const Matrix3d H = Vector3d(low, low, vertical).asDiagonal();
      const double stress = dough.At(H, ParticleTangent::kNone).stress(2, 2);
      ParticleState end = dough.After(H);
      // ∂Ψ/∂H = T F, with T = ∂Ψ/∂ε and the elastic F of the start
      if (end.plastic_strain > 0) {
        EXPECT_NEAR(stress, -kYield * dough.start().state.F(2, 2), 1e-8 * kYield) << steps;
      }
      end.C = H / dough.start().h;
      dough.Start(end);
    }
    const ParticleState& state = dough.start().state;
    // elastic stretches scale the strain of a step by 1 − ρ/2 or so
    const double plastic = -std::log(height) - kYield / kYoung;
    EXPECT_NEAR(state.plastic_strain, plastic, 0.06 * plastic) << steps;
    // the trace is (1 − 2ν) σ_Y/E = 0.15 % below 3, and a deviator of norm s takes s²/2 off the
    // determinant, with ρ and √1.5 times the strain of the last step in s: 0.6 % and 1.0 %. What is
    // lost does not grow with the number of steps
    EXPECT_NEAR(state.F.determinant(), 1, steps == 500 ? 0.007 : 0.012) << steps;
  }
}

// Under a pressure of more than 2 μ, a flow that keeps the volume would store more energy as
// compression than it takes from the deviator: bodies would gain it in every step.
TEST(VonMises, ReturnStoresNoEnergyHoweverLargeStrainAndPressureAre) {
  std::mt19937 random(10);
  int expanded = 0;
  for (const double yield : {200.0, kYield, 4 * kYield, 10 * kYield}) {
    for (int trial = 0; trial < 200; ++trial) {
      const Matrix3d F = std::uniform_real_distribution<double>(0.4, 1.2)(random) *
                         RandomDeformation(0.8, &random);
      Particle dough = MakeDough(true), elastic(FindParticleMaterial("LINEAR_COROTATIONAL"), true);
      dough.p()[2] = yield;
      elastic.p() = {kYoung, kPoisson};
      const ParticleState end = dough.After(F - Matrix3d::Identity()),
                          trial_end = elastic.After(F - Matrix3d::Identity());
      EXPECT_LE(dough.Energy(end), (1 + 1e-12) * elastic.Energy(trial_end)) << F;
      EXPECT_GE(end.F.determinant(), (1 - 1e-12) * F.determinant()) << F;
      expanded += end.F.determinant() > 1.001 * F.determinant();
    }
  }
  EXPECT_GT(expanded, 20);
  EXPECT_LT(expanded, 400);
}

TEST(VonMises, InvertedParticleThatYieldsIsTurnedRight) {
  const Particle dough = MakeDough(true);
  const ParticleState end =
      dough.After(Matrix3d(Vector3d(1, 1, -0.3).asDiagonal()) - Matrix3d::Identity());
  EXPECT_GT(end.F.determinant(), 0);
  EXPECT_NEAR(Deviator(end.F).norm(), kRho, 1e-13);
  EXPECT_NEAR(end.F.trace(), 1.7, 1e-14);
}

TEST(VonMises, PublishedReturnKeepsTheTraceAndLosesVolume) {
  std::mt19937 random(6);
  double lost = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Matrix3d F0 = RandomDeformation(0.1, &random);
    const Matrix3d H = RandomMatrix(0.5, &random);
    const Particle dough = MakeDough(false, F0);
    const Matrix3d F = F0 + H * F0, R0 = Polar(F0).first;
    const auto stretch = [&](const Matrix3d& A) -> Matrix3d {
      return 0.5 * (A * R0.transpose() + R0 * A.transpose());
    };
    const double s = Deviator(stretch(F)).norm();
    if (s < kRho) continue;
    const ParticleState end = dough.After(H);
    EXPECT_NEAR(Deviator(stretch(end.F)).norm(), kRho, 1e-13);
    EXPECT_NEAR(stretch(end.F).trace(), stretch(F).trace(), 1e-13);
    EXPECT_NEAR(end.plastic_strain, std::sqrt(2.0 / 3) * (s - kRho), 1e-14);
    // the part of F R0ᵀ that is not symmetric stays
    const Matrix3d change = (end.F - F) * R0.transpose();
    EXPECT_LT((change - change.transpose()).norm(), 1e-14);
    lost = std::max(lost, std::abs(end.F.determinant() / F.determinant() - 1));
  }
  EXPECT_GT(lost, 0.01);
}

}  // namespace
}  // namespace pliant::physics
