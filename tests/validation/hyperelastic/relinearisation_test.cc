#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// A soft ball of a hyperelastic material hits the ground at 4 m/s with steps of 10 ms: it is
// compressed to a fraction of its height within two steps.
std::string FallingBall(const std::string& method) {
  return Fill(R"(
time_step: 0.01
method: {$METHOD}
contact: {friction: 0.3}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.02}
      pose: {position: [0, 0, 0.0624]}
      velocity: {linear: [0.5, 0, -4]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 3.0e4, poissons_ratio: 0.4, density: 1000}
probes:
  - {name: volume, volume: {body: ball}}
)",
              {{"$METHOD", method}});
}

struct Impact {
  double min_volume = 1;        // over the rest volume
  double largest_residual = 0;  // of the momentum balance
  int steps_converged = 0, steps = 0, relinearisations = 0, linearised = 0;
};

Impact Fall(const std::string& method) {
  World world = LoadWorld(FallingBall(method));
  const double rest = Read(world, "volume").front();
  Impact impact;
  for (; impact.steps < 15; ++impact.steps) {
    const absl::Status status = world.Step();
    EXPECT_TRUE(status.ok()) << status;
    impact.min_volume = std::min(impact.min_volume, Read(world, "volume").front() / rest);
    impact.largest_residual = std::max(impact.largest_residual, world.report().momentum_residual);
    impact.steps_converged += world.report().converged ? 1 : 0;
    impact.relinearisations += world.report().relinearisations;
    impact.linearised += world.report().reason == solvers::StopReason::kLinearised ? 1 : 0;
  }
  return impact;
}

TEST(Relinearisation, HoldsTheNonlinearBalanceOfAnImpactUnderEveryMethodThatSolvesForIt) {
  const Impact convex = Fall("convex: {}"), nonsmooth = Fall("nonsmooth: {}"),
               corrective = Fall("corrective: {}");
  for (const Impact* impact : {&convex, &nonsmooth, &corrective}) {
    EXPECT_EQ(impact->steps_converged, impact->steps);
    EXPECT_LE(impact->largest_residual, 1e-6);
    EXPECT_LT(impact->min_volume, 0.96);  // it is an impact: 0.951
  }
  for (const Impact* impact : {&convex, &nonsmooth}) EXPECT_GT(impact->relinearisations, 0);
  // the two differ only in their contact law, near-rigid or rigid
  EXPECT_NEAR(convex.min_volume, nonsmooth.min_volume, 2e-3);  // 6e-4
  EXPECT_NEAR(convex.min_volume, corrective.min_volume, 2e-3);
}

TEST(Relinearisation, OnceAStepIsReportedAsNotConvergedWhereItIsNot) {
  const Impact once = Fall("convex: {relinearisations: 0}"), whole = Fall("convex: {}");
  for (const Impact& impact : {once, Fall("nonsmooth: {relinearisations: 0}")}) {
    EXPECT_LT(impact.steps_converged, impact.steps);
    EXPECT_EQ(impact.steps_converged + impact.linearised, impact.steps);
    EXPECT_GT(impact.largest_residual, 1e-3);
    EXPECT_EQ(impact.relinearisations, 0);
  }
  // and its volume loss differs by about an eighth: 0.0076 of 0.049
  EXPECT_GT(std::abs(once.min_volume - whole.min_volume), 5e-3);
}

TEST(Relinearisation, CostsNothingWhereBodiesAreLinear) {
  World world = LoadWorld([] {
    std::string scene = FallingBall("convex: {}");
    scene.replace(scene.find("NEO_HOOKEAN"), 11, "LINEAR");
    return scene;
  }());
  for (int step = 0; step < 15; ++step) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_EQ(world.report().relinearisations, 0);
    EXPECT_TRUE(world.report().converged);
  }
}

}  // namespace
}  // namespace pliant::physics
