// NEO_HOOKEAN of particles is the law of finite elements, along the displacement of the step.

#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/materials/material.h"
#include "tests/physics/mpm/materials/random_particle.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

TEST(NeoHookean, IsTheLawOfFiniteElements) {
  const Material& law = *FindMaterial("NEO_HOOKEAN");
  const Lane p[] = {Splat(3e4), Splat(0.4)};
  std::mt19937 random(8);
  Particle particle(FindParticleMaterial("NEO_HOOKEAN"), true);
  particle.p() = {3e4, 0.4};
  for (int trial = 0; trial < 50; ++trial) {
    particle.StartRandomly(0.4, &random);
    const Matrix3d H = RandomMatrix(0.3, &random), &F0 = particle.start().state.F;
    const Matrix3d F = F0 + H * F0;
    LaneMatrix3 lanes;
    for (int l = 0; l < kLanes; ++l) Insert(F, l, &lanes);
    MaterialResponse r;
    for (const bool is_far : {false, true}) {
      law.Respond(p, lanes, is_far ? Tangent::kAbsolute : Tangent::kConvex, &r);
      const ParticleResponse at =
          particle.At(H, is_far ? ParticleTangent::kAbsolute : ParticleTangent::kConvex);
      const Matrix3d P = Extract(r.stress, 0);
      EXPECT_NEAR(at.energy, r.energy[0], 1e-13 * P.norm());
      // the work of a displacement is the same by either measure: (∂Ψ/∂H) : δH = P : δH F0
      const Matrix3d D = RandomMatrix(1, &random);
      EXPECT_NEAR(at.stress.cwiseProduct(D).sum(), P.cwiseProduct(D * F0).sum(), 1e-12 * P.norm());
      const Matrix9d A = Extract(r.tangent, 0);
      const Vector9d DF = AsVector(D * F0);
      EXPECT_NEAR(AsVector(D).dot(at.tangent * AsVector(D)), DF.dot(A * DF), 1e-12 * A.norm());
    }
  }
}

TEST(NeoHookean, ReportsThatItsTangentWasProjected) {
  Particle particle(FindParticleMaterial("NEO_HOOKEAN"), true);
  EXPECT_FALSE(particle.At(Matrix3d::Zero()).is_projected);
  EXPECT_TRUE(particle.At(-0.5 * Matrix3d::Identity()).is_projected);
  EXPECT_FALSE(particle.At(-0.5 * Matrix3d::Identity(), ParticleTangent::kNone).is_projected);
}

}  // namespace
}  // namespace pliant::physics
