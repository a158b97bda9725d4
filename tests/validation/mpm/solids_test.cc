// Solids of particles (zong2024): grip and friction between panels, slopes, upsetting, impacts.

#include <algorithm>
#include <cmath>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// zong2024, Figure 6: two panels press a cube of 0.4 kg with 10 N each and carry its weight. They
// stand on a plane without friction.
TEST(Panels, HoldACubeWithoutCreep) {
  World world = LoadWorld(R"(
name: panels
time_step: 0.01
grid: {cell_size: 0.025}
contact: {friction: 0.8}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: left
    rigid: {motion: FREE, mass: 1, pose: {position: [-0.0583335, 0, 0.1]},
            shapes: [{box: {size: [0.016667, 0.14, 0.2]}}]}
  - name: right
    rigid: {motion: FREE, mass: 1, pose: {position: [0.0583335, 0, 0.1]},
            shapes: [{box: {size: [0.016667, 0.14, 0.2]}}]}
  - name: cube
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      pose: {position: [0, 0, 0.1]}
      material: {model: LINEAR_COROTATIONAL,
                 youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 400}
pairs:
  - {bodies: [ground, left], friction: 0}
  - {bodies: [ground, right], friction: 0}
script:
  - {target: {force: left}, times: [0, 100], values: [[10, 0, 0], [10, 0, 0]]}
  - {target: {force: right}, times: [0, 100], values: [[-10, 0, 0], [-10, 0, 0]]}
probes:
  - {name: left, contact_force: {body: cube, with: left}}
  - {name: right, contact_force: {body: cube, with: right}}
  - {name: v, velocity: {body: cube}}
)");
  // in every step from then on, since forces vary by what the tolerance of a step allows
  RunUntil(4, &world);
  for (int k = 0; k < 100; ++k) {
    ASSERT_TRUE(world.Step().ok());
    const Vector3d left = ReadVector(world, "left"), right = ReadVector(world, "right");
    EXPECT_NEAR(left.x(), 10, 1e-6) << k;
    EXPECT_NEAR(right.x(), -10, 1e-6) << k;
    EXPECT_NEAR(left.z(), 0.2 * kGravity, 1e-6) << k;
    EXPECT_NEAR(right.z(), 0.2 * kGravity, 1e-6) << k;
    EXPECT_NEAR(left.z() + right.z(), 0.4 * kGravity, 1e-6) << k;
  }
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-12);
}

// A block on a plane inclined by `angle`, given by a tilted gravity so that the grid is not turned.
World LoadSlope(double angle, double friction) {
  return LoadWorld(Fill(R"(
name: slope
time_step: 0.01
gravity: $G
grid: {cell_size: 0.025}
contact: {friction: $MU}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: block
    particles:
      fill: {box: {size: [0.15, 0.1, 0.05]}}
      pose: {position: [0.003, 0.002, 0.025]}
      material: {model: LINEAR_COROTATIONAL,
                 youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: v, velocity: {body: block}}
)",
                        {{"$G", List(kGravity * Vector3d(std::sin(angle), 0, -std::cos(angle)))},
                         {"$MU", Number(friction)}}));
}

TEST(ParticleSlope, SticksBelowTheFrictionAngle) {
  constexpr double kMu = 0.5;
  World world = LoadSlope(0.8 * std::atan(kMu), kMu);
  RunUntil(2, &world);
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-10);
}

TEST(ParticleSlope, SlidesAsABlockBeyondIt) {
  constexpr double kMu = 0.3, kAngle = 30 * kPi / 180;
  World world = LoadSlope(kAngle, kMu);
  RunUntil(0.5, &world);
  const double start = ReadVector(world, "v").x();
  RunUntil(1, &world);
  const double acceleration = (ReadVector(world, "v").x() - start) / 0.5;
  const double expected = kGravity * (std::sin(kAngle) - kMu * std::cos(kAngle));
  EXPECT_NEAR(acceleration, expected, 0.01 * expected);
}

// A block of dough between plates without friction that close at 50 mm/s: the minimum and maximum
// of the stress on the plates over σ_Y, from ln H0/H = 0.13 to 0.47, and the largest change of
// volume. The area is that of the inner particles, which stay in a box.
struct Upsetting {
  double min = 1e9, max = 0, volume = 0;
};
Upsetting Upset(double per_cell, const std::string& variant) {
  constexpr double kHeight = 0.1, kYield = 1000, kSpeed = 0.05;
  World world = LoadWorld(Fill(R"(
name: upsetting
time_step: 0.01
gravity: [0, 0, 0]
grid: {cell_size: 0.018, variant: $VARIANT}
contact: {friction: 0}
bodies:
  - name: bottom
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: top
    rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.11]},
            shapes: [{box: {size: [0.5, 0.5, 0.02]}}]}
  - name: dough
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      per_cell: $PER_CELL
      pose: {position: [0, 0, 0.05]}
      material: {model: VON_MISES,
                 youngs_modulus: 2.0e4, poissons_ratio: 0.49, yield_stress: 1000,
                 density: 1000}
script:
  - {target: {pose: top}, times: [0, 0.76], values: [[0, 0, 0.11], [0, 0, 0.072]]}
probes:
  - {name: f, contact_force: {body: top, with: dough}}
  - {name: x0, extent: {body: dough, direction: [-1, 0, 0], quantile: 0.85}}
  - {name: x1, extent: {body: dough, direction: [1, 0, 0], quantile: 0.85}}
  - {name: y0, extent: {body: dough, direction: [0, -1, 0], quantile: 0.85}}
  - {name: y1, extent: {body: dough, direction: [0, 1, 0], quantile: 0.85}}
  - {name: v, volume: {body: dough}}
)",
                               {{"$VARIANT", variant}, {"$PER_CELL", Number(per_cell)}}));
  Upsetting result;
  const auto length = [&](const std::string& axis) {
    return Read(world, axis + "0")[0] + Read(world, axis + "1")[0];
  };
  const double x = length("x"), y = length("y"), volume = Read(world, "v")[0];
  while (world.state().time < 0.755) {
    const absl::Status status = world.Step();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(world.report().converged) << "step " << world.state().step;
    const double height = kHeight - kSpeed * world.state().time;
    const double strain = std::log(kHeight / height);
    const double area = length("x") * length("y") / (x * y);
    result.volume = std::max(result.volume, std::abs(Read(world, "v")[0] / volume - 1));
    if (strain < 0.13 || strain > 0.47) continue;
    const double force = ReadVector(world, "f").z() / (kYield * 0.01 * area);
    result.min = std::min(result.min, force);
    result.max = std::max(result.max, force);
  }
  return result;
}

TEST(Upsetting, FollowsTheYieldStress) {
  const Upsetting fine = Upset(27, "CORRECTED"), coarse = Upset(8, "CORRECTED"),
                  paper = Upset(8, "PAPER");
  EXPECT_GE(fine.min, 0.99);
  EXPECT_LE(fine.max, 1.05);
  EXPECT_LE(fine.volume, 5e-3);
  EXPECT_GE(coarse.min, 0.97);
  EXPECT_LE(coarse.max, 1.09);
  EXPECT_LE(coarse.volume, 5e-3);
  // yielding after the step carries more than the yield stress
  EXPECT_GT(paper.max, 1.14);
}

TEST(ParticleImpact, DropDoesNotPassAThinPlate) {
  World world = LoadWorld(R"(
name: drop
time_step: 0.01
grid: {cell_size: 0.02}
bodies:
  - name: plate
    rigid: {motion: FIXED, shapes: [{box: {size: [2, 2, 0.002]}}]}
  - name: drop
    particles:
      fill: {sphere: {radius: 0.03}}
      pose: {position: [0.001, 0.002, 0.131]}
      velocity: {linear: [0, 0, -10]}
      material: {model: LIQUID, bulk_modulus: 1.0e5, density: 1000}
probes:
  - {name: low, extent: {body: drop, direction: [0, 0, -1]}}
)");
  for (int n = 0; n < 20; ++n) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_LT(Read(world, "low")[0], 0.002);
  }
}

// Steps a world with a probe `e` of its energy, which has to converge in every step and to keep the
// energy below `bound` times that at the start.
void ExpectNoGain(World* world, int steps, double bound) {
  const double start = Read(*world, "e")[0];
  for (int n = 0; n < steps; ++n) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(world->report().converged) << "step " << world->state().step;
    EXPECT_LE(Read(*world, "e")[0], bound * start);
  }
}

TEST(ParticleImpact, ElasticCubeBouncesWithoutGainingEnergy) {
  World world = LoadWorld(R"(
name: bounce
time_step: 0.005
grid: {cell_size: 0.025}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: cube
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      pose: {position: [0, 0, 0.2], rpy_degrees: [20, 30, 10]}
      velocity: {linear: [0.5, 0, -2], angular: [1, 3, 2]}
      material: {model: LINEAR_COROTATIONAL,
                 youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
probes:
  - {name: e, energy: {kind: TOTAL}}
)");
  ExpectNoGain(&world, 200, 1.005);
}

// Two lumps of mud, which yields at a hundredth of a percent of strain, collide and flow around
// each other. A tangent at the direction of the flow holds in a tiny neighbourhood only: with it,
// steps took up to 81 iterations, of the 100 after which they fail.
TEST(ParticleImpact, SoftMudFlowsInFewIterations) {
  const std::string lump = R"(
    particles:
      fill: {ellipsoid: {radii: [0.1, 0.07, 0.08]}}
      per_cell: 4
      pose: {position: [$X, $Y, 0]}
      velocity: {linear: [$V, 0, 0]}
      material: {model: VON_MISES, youngs_modulus: 1.0e6, poissons_ratio: 0.2,
                 yield_stress: 180, density: 230}
)";
  World world = LoadWorld(R"(
name: mud
time_step: 0.005
gravity: [0, 0, 0]
grid: {cell_size: 0.04}
bodies:
  - name: left)" + Fill(lump, {{"$X", "-0.14"}, {"$Y", "0.02"}, {"$V", "3"}}) +
                          "  - name: right" +
                          Fill(lump, {{"$X", "0.14"}, {"$Y", "0"}, {"$V", "-3"}}) + R"(
probes:
  - {name: e, energy: {kind: TOTAL}}
)");
  const double start = Read(world, "e")[0];
  int most = 0;
  for (int n = 0; n < 30; ++n) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    most = std::max(most, world.report().newton_iterations);
  }
  EXPECT_GT(most, 3);
  EXPECT_LE(most, 20);
  EXPECT_LT(Read(world, "e")[0], 0.5 * start);
}

// Jelly that yields near its modulus, under an impact of four times the modulus. Flow at a constant
// volume stored energy beneath such a pressure, and the ball had ten times its energy after 0.3 s.
TEST(ParticleImpact, SoftJellyFlattensWithoutGainingEnergy) {
  World world = LoadWorld(R"(
name: jelly
time_step: 0.005
contact: {friction: 0}
grid: {cell_size: 0.04}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: ball
    particles:
      fill: {sphere: {radius: 0.1}}
      per_cell: 12
      layout: POISSON_DISK
      pose: {position: [0, 0, 0.16]}
      velocity: {linear: [1.5, -1.2, -3.3], angular: [3, 3, -7]}
      material: {model: VON_MISES, youngs_modulus: 6000, poissons_ratio: 0.49,
                 yield_stress: 5000, density: 1400}
probes:
  - {name: e, energy: {kind: TOTAL}}
)");
  double last = Read(world, "e")[0];
  const double start = last;
  for (int n = 0; n < 60; ++n) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(world.report().converged) << "step " << world.state().step;
    const double now = Read(world, "e")[0];
    EXPECT_LE(now, last + 1e-3 * start) << "step " << world.state().step;
    last = now;
  }
}

// A hammer drives mud into rubber, whose energy is not convex. Linearising anew around contact
// solves had no line search: the tangent of the sixth step was not positive definite.
TEST(ParticleImpact, NeoHookeanRubberWithstandsAHammer) {
  World world = LoadWorld(R"(
name: hammer
time_step: 0.005
contact: {friction: 0.3}
grid: {cell_size: 0.025}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: rubber
    particles:
      fill: {box: {size: [0.08, 0.08, 0.08]}}
      per_cell: 4
      pose: {position: [0, 0, 0.05]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: 0.49, density: 300}
  - name: mud
    particles:
      fill: {box: {size: [0.06, 0.06, 0.06]}}
      per_cell: 4
      pose: {position: [0.02, 0, 0.15]}
      velocity: {linear: [0, 0, -3]}
      material: {model: VON_MISES, youngs_modulus: 3.0e5, poissons_ratio: 0.2, yield_stress: 1600,
                 density: 160}
  - name: hammer
    rigid: {motion: FREE, mass: 2, pose: {position: [0, 0, 0.25]},
            velocity: {linear: [0, 0, -4]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
probes:
  - {name: e, energy: {kind: TOTAL}}
)");
  ExpectNoGain(&world, 20, 1.001);
}

TEST(ParticleWorld, CollisionsKeepMomentum) {
  World world = LoadWorld(R"(
name: collision
time_step: 0.005
gravity: [0, 0, 0]
grid: {cell_size: 0.025}
bodies:
  - name: dough
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      velocity: {linear: [0, 0.1, 0], angular: [0, 0, 2]}
      material: {model: VON_MISES,
                 youngs_modulus: 1.0e5, poissons_ratio: 0.4, yield_stress: 2000,
                 density: 1000}
  - name: ball
    rigid: {motion: FREE, mass: 0.5, pose: {position: [-0.2, 0.01, 0]},
            velocity: {linear: [1.5, 0, 0]},
            shapes: [{sphere: {radius: 0.04}}]}
  - name: soft
    deformable: {mesh: {box: {size: [0.08, 0.08, 0.08]}, edge_length: 0.04},
                 pose: {position: [0.2, -0.01, 0.01]},
                 velocity: {linear: [-1, 0, 0]},
                 material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 800}}
probes:
  - {name: p, momentum: {}}
)");
  const std::vector<double> start = Read(world, "p");
  int touching = 0;
  for (int n = 0; n < 100; ++n) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    touching += !world.report().contacts.empty();
  }
  EXPECT_GT(touching, 10);
  const std::vector<double> end = Read(world, "p");
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(end[k], start[k], 1e-12);
}

}  // namespace
}  // namespace pliant::physics
