// Deformable bodies of the default material make no energy when they turn, also where a collision
// changes how they turn.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// An undamped box above the ground that spins at 32 rad/s.
World LoadSpinning(const std::string& method, double height, double speed, double h) {
  return LoadWorld(Fill(
      R"(
name: spinning box
time_step: $H
method: {$METHOD: {}}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: box
    deformable:
      mesh: {box: {size: [0.4, 0.2, 0.2]}, edge_length: 0.1}
      pose: {position: [0, 0, $Z], rpy_degrees: [10, 30, 0]}
      velocity: {linear: [0, 0, -$V], angular: [5, 30, -10]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.7e6, poissons_ratio: 0.3,
          density: 1000}
      damping: {alpha: 0, beta: 0}
)",
      {{"$H", Number(h)}, {"$METHOD", method}, {"$Z", Number(height)}, {"$V", Number(speed)}}));
}

double CalcEnergy(const World& world) {
  const Energies energies = CalcEnergies(world.model(), world.state(), 1);
  return energies.kinetic + energies.elastic + energies.potential;
}

TEST(Energy, SpinDoesNotStretch) {
  // a rotation that lags by 18° measures a stretch of 5 %: 179 J of 513 J
  World world = LoadSpinning("convex", 20, 0, 0.01);
  RunUntil(0.5, &world);
  const Energies energies = CalcEnergies(world.model(), world.state(), 1);
  EXPECT_GT(energies.kinetic, 100);
  EXPECT_LT(energies.elastic, 1e-3 * energies.kinetic);
}

TEST(Energy, CollisionsOfASpinningBoxMakeNone) {
  constexpr int kPhases = 10;
  for (const char* method : {"convex", "nonsmooth", "corrective"}) {
    for (const double h : {0.01, 0.002}) {
      for (int phase = 0; phase < kPhases; ++phase) {
        const double speed = 4;
        World world = LoadSpinning(method, 0.35 + 0.0391 * phase, speed, h);
        const double initial = CalcEnergy(world);
        double before = initial;
        while (world.state().time < 0.3) {
          ASSERT_TRUE(world.Step().ok());
          const double now = CalcEnergy(world);
          EXPECT_LE(now - before, 1e-3 * initial)
              << method << ", h " << h << ", phase " << phase << ", t " << world.state().time;
          before = now;
        }
        EXPECT_LT(before, 0.5 * initial);
      }
    }
  }
}

}  // namespace
}  // namespace pliant::physics
