// Nearly incompressible bodies: linear tetrahedra lock, patches with a mean dilatation do not.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// Mean deflection of a rubber cantilever under a small distributed load, relative to slender beam
// theory.
double CalcDeflection(const std::string& edge, double poissons_ratio, bool mean_dilatation) {
  constexpr double kLength = 0.8, kHeight = 0.16, kWidth = 0.16, kE = 1e6, kForce = 0.5;
  World world = LoadWorld(Fill(R"(
gravity: [0, 0, 0]
time_step: 1
bodies:
  - name: beam
    deformable:
      mesh: {box: {size: [0.8, 0.16, 0.16]}, edge_length: $EDGE}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: $NU, density: 1}
      damping: {beta: 0}
      mean_dilatation: $MEAN
      attachments: [{to: world, within: {box: {size: [0.002, 1, 1],
          pose: {position: [-0.4, 0, 0]}}}}]
script:
  - {target: {force: beam}, times: [0, 9], values: [[0, -0.5, 0], [0, -0.5, 0]]}
probes: [{name: p, position: {body: beam}}]
)",
                               {{"$EDGE", edge},
                                {"$NU", Number(poissons_ratio)},
                                {"$MEAN", mean_dilatation ? "true" : "false"}}));
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(world.Step().ok());
  const double inertia = kWidth * kHeight * kHeight * kHeight / 12;
  // the mean over the beam of F L³ / (24 E I) (6 ξ² − 4 ξ³ + ξ⁴)
  const double expected = kForce * kLength * kLength * kLength / (20 * kE * inertia);
  return -Read(world, "p")[1] / expected;
}

TEST(Locking, LinearTetrahedraLockAndPatchesDoNot) {
  // compare with the same mesh at ν = 0.3, so that its discretisation error cancels
  const double compressible = CalcDeflection("0.04", 0.3, false);
  EXPECT_LT(CalcDeflection("0.04", 0.4999, false), 0.92 * compressible);
  EXPECT_NEAR(CalcDeflection("0.04", 0.4999, true), compressible, 0.02 * compressible);
}

}  // namespace
}  // namespace pliant::physics
