// Near-rigid contact of a particle, a sphere that cannot turn, so that W = I/m and w = ‖W‖_F/3
// = 0.577/m.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kMass = 2;     // [kg]
constexpr double kStep = 0.01;  // [s]
constexpr double kSigma = 1e-3;
const double kW = std::sqrt(3.0) / 3 / kMass;  // w [1/kg]
const double kRn = kW / (4 * kPi * kPi);       // β = 1
const double kRt = kSigma * kW;

// A particle on a plane turned by `angle` about y, with a velocity and a constant force along x.
World LoadParticle(double angle, double friction, double speed, double force) {
  return LoadWorld(Fill(R"(
name: particle
time_step: $STEP
method: {convex: {beta: 1}}
contact: {friction: $MU, anchored: false}
bodies:
  - name: plane
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, $DEGREES, 0]}, shapes: [{half_space: {}}]}
  - name: particle
    rigid: {motion: FREE, mass: $MASS, inertia: [1.0e9, 1.0e9, 1.0e9, 0, 0, 0],
        pose: {position: $P},
            velocity: {linear: [$SPEED, 0, 0]}, shapes: [{sphere: {radius: 0.1}}]}
script:
  - {target: {force: particle}, times: [0, 100], values: [[$FORCE, 0, 0], [$FORCE, 0, 0]]}
probes:
  - {name: v, velocity: {body: particle}}
  - {name: depth, penetration: {}}
)",
                        {{"$STEP", Number(kStep)},
                         {"$MU", Number(friction)},
                         {"$DEGREES", Number(angle * 180 / kPi)},
                         {"$MASS", Number(kMass)},
                         {"$P", List(0.1 * SlopeNormal(angle))},
                         {"$SPEED", Number(speed)},
                         {"$FORCE", Number(force)}}));
}

TEST(NearRigidParticle, RestPenetration) {
  World world = LoadParticle(0, 0.5, 0, 0);
  RunUntil(1, &world);
  const double expected = std::sqrt(3.0) / 3 * kGravity * kStep * kStep / (2 * kPi * kPi);
  EXPECT_NEAR(Read(world, "depth")[0], expected, 0.01 * expected);
}

TEST(NearRigidParticle, StickCreep) {
  const double angle = 15 * kPi / 180;
  World world = LoadParticle(angle, 0.5, 0, 0);
  RunUntil(1, &world);
  const double expected = std::sqrt(3.0) / 3 * kSigma * kGravity * kStep * std::sin(angle);
  EXPECT_NEAR(ReadVector(world, "v").dot(Downhill(angle)), expected, 0.01 * expected);
}

TEST(NearRigidParticle, SlidingGap) {
  // the push equals friction, so the particle keeps its speed, at the gliding gap: an open gap is
  // to close within the step, without relaxation
  const double mu = 0.5, weight = kMass * kGravity;
  World world = LoadParticle(0, mu, 0.1, mu * weight);
  RunUntil(1, &world);
  const double speed = ReadVector(world, "v").x();
  EXPECT_NEAR(speed, 0.1, 1e-6);

  const double mu_tilde_squared = mu * mu * kRt / kRn;
  const double expected = kStep * (mu * speed - kRn * (1 + mu_tilde_squared) * weight * kStep);
  ASSERT_EQ(world.report().contacts.size(), 1u);
  EXPECT_NEAR(world.report().contacts[0].gap, expected, 0.01 * expected);
  EXPECT_LE(world.report().cone_violation, 1e-12);
}

}  // namespace
}  // namespace pliant::physics
