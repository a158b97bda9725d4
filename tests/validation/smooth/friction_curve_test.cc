// Static, sliding and viscous friction of the smooth method.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// A block of 1 kg at rest on the ground, pulled along x at the height of the ground.
World LoadPulledBlock(const std::string& pair, bool is_anchored = true) {
  return LoadWorld(Fill(R"(
time_step: 0.005
sleeping: false
contact: {anchored: $ANCHORED}
method: {smooth: {integrator: SDIRK2}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: block
    rigid: {motion: FREE, density: 500, pose: {position: [0, 0, 0.02575]},
            shapes: [{box: {size: [0.2, 0.2, 0.05]}}]}
pairs: [{bodies: [ground, block], $PAIR}]
probes:
  - {name: v, velocity: {body: block}}
)",
                        {{"$PAIR", pair}, {"$ANCHORED", is_anchored ? "true" : "false"}}));
}

void Pull(double force, World* world) {
  Inputs inputs;
  inputs.forces.resize(1);
  inputs.forces[0].body = 1;
  inputs.forces[0].force_W = {force, 0, 0};
  inputs.forces[0].at_center_of_mass = false;
  inputs.forces[0].p_BP = {0, 0, -0.025};
  ASSERT_TRUE(world->Step(inputs).ok());
  ASSERT_TRUE(world->report().converged) << world->report().residual;
}

// The pull at which the block starts to slide, in its weights.
double FindBreakaway(bool is_anchored) {
  World world =
      LoadPulledBlock("friction: 0.5, static_friction: 1.5, stribeck_speed: 0.01", is_anchored);
  double force = 0.4 * kGravity;
  while (force < 1.6 * kGravity && ReadVector(world, "v").x() < 0.05) {
    Pull(force, &world);
    const double rate = (force < 1.4 * kGravity ? 0.2 : 0.01) * kGravity;  // [N/s]
    force += rate * 0.005;
  }
  return force / kGravity;
}

TEST(StribeckFriction, BreaksAwayNearTheStaticCoefficient) {
  // the maximum of (μ_d + (μ_s − μ_d) g(v/v_s)) s(v) is 1.4725 for 0.5, 1.5 and v_s = 10 ε
  EXPECT_NEAR(FindBreakaway(false), 1.4725, 0.002 * 1.4725);
}

// The friction of an anchored contact needs no slip, so it has not fallen yet.
TEST(StribeckFriction, AnchoredContactBreaksAwayAtTheStaticCoefficient) {
  EXPECT_NEAR(FindBreakaway(true), 1.5, 0.01 * 1.5);
}

TEST(ViscousFriction, HoldsABlockAtTheSpeedThatBalancesThePull) {
  World world = LoadPulledBlock("friction: 0.2, viscous_friction: 10");
  for (int k = 0; k < 600; ++k) Pull(0.2 * kGravity + 5, &world);
  EXPECT_NEAR(ReadVector(world, "v").x(), 0.5, 1e-4);
}

}  // namespace
}  // namespace pliant::physics
