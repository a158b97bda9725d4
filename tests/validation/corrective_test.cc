// The corrective method with contacts that turn, roll, conflict or are redundant.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

bool IsFinite(const State& state) {
  for (const auto* numbers : {&state.q, &state.v})
    for (const double x : *numbers)
      if (!std::isfinite(x)) return false;
  return true;
}

std::string OnTheGround(const std::string& options, const std::string& bodies) {
  return Fill(R"(
time_step: 0.01
method: {corrective: {$OPTIONS}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)",
              {{"$OPTIONS", options}}) +
         bodies;
}

// The ball turns by a radian per step; a material point at the bottom would rise by half the
// radius.
TEST(CorrectiveGeometry, BallRollsOnWithoutSinkingOrSlowing) {
  World world = LoadWorld(OnTheGround("", R"(
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
        velocity: {linear: [5, 0, 0], angular: [0, 100, 0]},
            shapes: [{sphere: {radius: 0.05}}]}
probes:
  - {name: p, position: {body: ball}}
  - {name: v, velocity: {body: ball}}
)"));
  RunUntil(1, &world);
  EXPECT_NEAR(ReadVector(world, "p").z(), 0.05, 1e-9);
  EXPECT_NEAR(ReadVector(world, "p").x(), 5, 1e-6);
  EXPECT_NEAR(ReadVector(world, "v").x(), 5, 1e-6);
}

// A cylinder that rolls on its rim touches the ground where it is lowest. A material point of the
// rim would move back under it, where the weight spins it up.
TEST(CorrectiveGeometry, CylinderRollsOnItsRimWithoutGainingEnergy) {
  World world = LoadWorld(OnTheGround("", R"(
  - name: cylinder
    rigid: {motion: FREE, density: 1000, shapes: [{cylinder: {radius: 0.05, length: 0.1}}],
        pose: {position: [0, 0, 0.055], rpy_degrees: [85, 0, 0]},
        velocity: {linear: [2, 0, 0], angular: [0, 40, 0]}}
)"));
  world.WatchEnergy(true);
  double start = 0;
  for (int step = 0; step < 100; ++step) {
    ASSERT_TRUE(world.Step().ok());
    const EnergyBalance& energy = world.report().energy;
    if (step == 0) start = energy.before;
    EXPECT_LT(energy.gain(), 1e-4 * start) << step;
  }
}

// A box that rocks on its edge turns about it, and the edge stays in place.
TEST(CorrectiveGeometry, BoxRocksOnItsEdgeWithoutSlipping) {
  World world = LoadWorld(OnTheGround("sweeps: 300", R"(
  - name: box
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.1]},
        velocity: {angular: [0, 2.5, 0], linear: [0.25, 0, -0.125]},
            shapes: [{box: {size: [0.1, 0.1, 0.2]}}]}
contact: {friction: 2}
probes: [{name: p, position: {body: box}}]
)"));
  const Vector3d corner(0.05, 0, -0.1);
  for (int step = 0; step < 11; ++step) {
    ASSERT_TRUE(world.Step().ok());
    const Vector3d p = CalcBodyPose(world.model(), world.state(), 1) * corner;
    EXPECT_NEAR(p.z(), 0, 1e-4) << step;
    EXPECT_NEAR(p.x(), 0.05, 1e-3) << step;
  }
}

// Three boxes, each `ratio` times as heavy as the one below it, of which the upper one slides.
std::string HeavyOnLight(double ratio, const std::string& options) {
  return Fill(OnTheGround(options, R"(
  - {name: a, rigid: {motion: FREE, mass: 1, pose: {position: [0, 0, 0.05]},
              shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - {name: b, rigid: {motion: FREE, mass: $B, pose: {position: [0, 0, 0.15]},
              shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - {name: c, rigid: {motion: FREE, mass: $C, pose: {position: [0, 0, 0.25]},
              velocity: {linear: [0.3, 0, 0]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
contact: {friction: 0.4}
sleeping: false
)"),
              {{"$B", Number(ratio)}, {"$C", Number(ratio * ratio)}});
}

// Newton's method solves the linearised problem, as sweeps converge slowly here.
TEST(CorrectiveConvergence, HoldsUnderLargeRatiosOfMass) {
  World world = LoadWorld(HeavyOnLight(30, ""));
  for (int step = 0; step < 40; ++step) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged) << step << ": " << world.report().residual;
  }
}

// Newton's method converges to the solution of the sweeps.
TEST(CorrectiveConvergence, IsToTheSolutionOfTheSweeps) {
  World world = LoadWorld(HeavyOnLight(10, "tolerance: 1e-8")),
        swept = LoadWorld(HeavyOnLight(10, "recursions: 50, sweeps: 20000, tolerance: 1e-8"));
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(swept.Step().ok());
    ASSERT_TRUE(swept.report().converged) << step;
    EXPECT_GT(swept.report().iterations, 2 * world.report().iterations) << step;
    for (std::size_t i = 0; i < world.state().v.size(); ++i)
      EXPECT_NEAR(world.state().v[i], swept.state().v[i], 1e-5) << step << ", velocity " << i;
  }
}

// A limit that is given is kept, as benchmarks need.
TEST(CorrectiveConvergence, StopsAtLimitsThatAreGiven) {
  World world = LoadWorld(HeavyOnLight(30, "recursions: 3, sweeps: 20"));
  ASSERT_TRUE(world.Step().ok());
  EXPECT_FALSE(world.report().converged);
  EXPECT_EQ(world.report().iterations, 60);
}

// Sweeps converge slowly where stiff drives press a contact; Newton's method then replaces them at
// once, not after all planned recursions.
TEST(CorrectiveConvergence, AnArmThatPressesOnTheGroundTakesFewIterations) {
  World world = LoadWorld(R"(
name: pressing
time_step: 0.005
sleeping: false
method: {corrective: {}}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
robots:
  - name: arm
    file: )" PLIANT_SOURCE_DIR R"(/scenes/robots/iiwa14.urdf
    pose: {position: [0, 0, 0.05]}
    joint_positions: {iiwa_joint_2: 1.7}
    actuators: [{joint: ".*", pd: {stiffness: 100000, damping: 500}}]
script:
  - {target: {joint: arm/iiwa_joint_2}, times: [0, 1], values: [1.7, 2.05]}
probes:
  - {name: force, contact_force: {body: floor}}
)");
  RunUntil(1.5, &world);
  int iterations = 0;
  for (int step = 0; step < 100; ++step) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged);
    iterations += world.report().iterations;
  }
  EXPECT_LT(iterations, 100 * 60);
  EXPECT_LT(ReadVector(world, "force").z(), -200);
}

TEST(CorrectiveTrouble, FrictionOfNothingAndOfAMillion) {
  for (const char* friction : {"0", "100", "1000000"}) {
    World world = LoadWorld(Fill(OnTheGround("recursions: 5, sweeps: 30", R"(
  - name: cube
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
        velocity: {linear: [1, 0, 0]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
contact: {friction: $MU}
probes: [{name: v, velocity: {body: cube}}]
)"),
                                 {{"$MU", friction}}));
    for (int step = 0; step < 50; ++step) ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(IsFinite(world.state()));
    // without friction it keeps its speed; at μ ≥ 100 it has stopped or tipped over
    if (friction == std::string("0")) {
      EXPECT_NEAR(ReadVector(world, "v").x(), 1, 1e-9);
    } else {
      EXPECT_LT(ReadVector(world, "v").norm(), 0.5);
    }
  }
}

// Two distance constraints that cannot both hold.
TEST(CorrectiveTrouble, ConflictingConstraintsLeaveNumbers) {
  World world = LoadWorld(R"(
time_step: 0.01
method: {corrective: {}}
bodies:
  - {name: bob, rigid: {motion: FREE, mass: 1, shapes: [{sphere: {radius: 0.05}}]}}
constraints:
  - {name: up, distance: {a: world, b: bob, point_a: [0, 0, 1], length: 0.2}}
  - {name: down, distance: {a: world, b: bob, point_a: [0, 0, -1], length: 0.2}}
probes: [{name: p, position: {body: bob}}]
)");
  for (int step = 0; step < 200; ++step) ASSERT_TRUE(world.Step().ok());
  ASSERT_TRUE(IsFinite(world.state()));
  // the body ends between them
  EXPECT_LT(ReadVector(world, "p").norm(), 1);
}

// Forty coincident boxes: each corner has forty contacts.
TEST(CorrectiveTrouble, DuplicateContactsShareTheWeight) {
  std::string shapes;
  for (int k = 0; k < 40; ++k)
    shapes += std::string(k > 0 ? ", " : "") + "{box: {size: [0.1, 0.1, 0.1]}}";
  World world = LoadWorld(Fill(OnTheGround("sweeps: 300", R"(
  - name: cube
    rigid: {motion: FREE, mass: 1, pose: {position: [0, 0, 0.05]}, shapes: [$SHAPES]}
probes: [{name: weight, contact_force: {body: cube}}]
)"),
                               {{"$SHAPES", shapes}}));
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_GE(world.report().contacts.size(), 160u);
  ASSERT_TRUE(IsFinite(world.state()));
  EXPECT_NEAR(Read(world, "weight")[2], kGravity, 1e-3 * kGravity);
}

// A plate compresses a soft cube by a third within a step: its tangent is refactored on the way.
TEST(CorrectiveRefactoring, AStaleTangentIsTakenAnew) {
  const auto squeeze = [](const char* plate) {
    World world = LoadWorld(Fill(OnTheGround("recursions: 5, sweeps: 30", R"(
  - name: cube
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.05]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
  - {name: plate, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.11]},
      shapes: [{box: {size: [0.3, 0.3, 0.02]}}]}}
script:
  - {target: {pose: plate}, times: [0, 0.01], values: [[0, 0, 0.11], [0, 0, $PLATE]]}
probes: [{name: volume, field: {body: cube, measure: VOLUME_RATIO, reduce: MIN}}]
)"),
                                 {{"$PLATE", plate}}));
    EXPECT_TRUE(world.Step().ok());
    EXPECT_GT(Read(world, "volume")[0], 0);
    return world.report().refactorisations;
  };
  EXPECT_EQ(squeeze("0.1099"), 1);
  EXPECT_GE(squeeze("0.08"), 3);
}

TEST(CorrectiveRefactoring, TheBalanceOfANonlinearMaterialHoldsInAnImpact) {
  World world = LoadWorld(OnTheGround("", R"(
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.03}
      pose: {position: [0, 0, 0.06]}
      velocity: {linear: [2, 0, -2], angular: [0, 10, 0]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
)"));
  for (int step = 0; step < 40; ++step) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged) << step << ": " << world.report().residual;
  }
}

}  // namespace
}  // namespace pliant::physics
