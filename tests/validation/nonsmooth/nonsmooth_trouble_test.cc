// The nonsmooth method with conflicting constraints, thousandfold redundant contacts, or NaN
// inputs.

#include <fstream>

#include "physics/dynamics/state.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

bool HasOnlyNumbers(const World& world) {
  for (const auto* numbers : {&world.state().q, &world.state().v})
    for (const double x : *numbers)
      if (!std::isfinite(x)) return false;
  return true;
}

// Two distance constraints that cannot both hold.
TEST(NonsmoothTrouble, ConflictingConstraintsAreToldByTheResidual) {
  for (const char* solver : {"PCR", "PCG", "JACOBI", "GAUSS_SEIDEL", "DIRECT"}) {
    World world = LoadWorld(Fill(R"(
time_step: 0.01
sleeping: false
method: {nonsmooth: {linear_solver: $SOLVER}}
bodies:
  - {name: bob, rigid: {motion: FREE, mass: 1, shapes: [{sphere: {radius: 0.05}}]}}
constraints:
  - {name: up, distance: {a: world, b: bob, point_a: [0, 0, 1], length: 0.2}}
  - {name: down, distance: {a: world, b: bob, point_a: [0, 0, -1], length: 0.2}}
probes: [{name: p, position: {body: bob}}]
)",
                                 {{"$SOLVER", solver}}));
    for (int step = 0; step < 100; ++step) {
      ASSERT_TRUE(world.Step().ok());
      EXPECT_FALSE(world.report().converged) << solver;
      // each asks for a step of h times the recovery speed
      EXPECT_GT(world.report().residual, 0.9e-3) << solver;
    }
    ASSERT_TRUE(HasOnlyNumbers(world)) << solver;
    // the body ends between them
    EXPECT_LT(ReadVector(world, "p").norm(), 1) << solver;
  }
}

std::string CubeOf(const std::string& shapes) {
  return Fill(R"(
time_step: 0.01
sleeping: false
method: {nonsmooth: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    rigid: {motion: FREE, mass: 1, inertia: [0.002, 0.002, 0.002, 0, 0, 0],
        pose: {position: [0, 0, 0.05]}, shapes: [$SHAPES]}
probes: [{name: weight, contact_force: {body: cube}}]
)",
              {{"$SHAPES", shapes}});
}

// A thousand coincident boxes: each corner has a thousand contacts.
TEST(NonsmoothTrouble, ThousandsOfDuplicateContactsShareTheWeight) {
  std::string shapes;
  for (int k = 0; k < 1000; ++k)
    shapes += std::string(k > 0 ? ", " : "") + "{box: {size: [0.1, 0.1, 0.1]}}";
  World world = LoadWorld(CubeOf(shapes));
  RunUntil(0.1, &world);
  EXPECT_EQ(world.report().contacts.size(), 4000u);
  EXPECT_NEAR(Read(world, "weight")[2], kGravity, 1e-6 * kGravity);
}

// A surface with four hundred copies of each triangle, each with its own vertices: the repeated
// ones are dropped, with a warning.
TEST(NonsmoothTrouble, ASurfaceOfRepeatedTrianglesIsTakenOnce) {
  const std::string file = PathOfTest("repeated.obj");
  {
    const int faces[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5}, {0, 4, 5}, {0, 5, 1},
                              {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
    std::ofstream out(file);
    int count = 0;
    for (int copy = 0; copy < 400; ++copy) {
      for (const auto& face : faces) {
        for (const int v : face)
          out << "v " << (v & 4 ? 0.05 : -0.05) << " " << (v & 2 ? 0.05 : -0.05) << " "
              << (v & 1 ? 0.05 : -0.05) << "\n";
        out << "f " << count + 1 << " " << count + 2 << " " << count + 3 << "\n";
        count += 3;
      }
    }
  }
  const SceneResult result = LoadSceneYaml(CubeOf("{mesh: {file: \"" + file + "\"}}"), "s.yaml");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_NE(Format(result.messages[0]).find("dropped 4788 degenerate or repeated triangles"),
            std::string::npos)
      << Format(result.messages[0]);
  World world(result.model);
  RunUntil(0.1, &world);
  EXPECT_EQ(world.report().contacts.size(), 4u);
  EXPECT_NEAR(Read(world, "weight")[2], kGravity, 1e-6 * kGravity);
}

// A body squeezed between two that cannot move: it cannot leave either, and stays where it is.
TEST(NonsmoothTrouble, AContactWithoutMotionPossibleKeepsItsOverlap) {
  World world = LoadWorld(R"(
time_step: 0.01
method: {nonsmooth: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: lid, rigid: {motion: FIXED, pose: {position: [0, 0, 0.095], rpy_degrees: [180, 0, 0]},
      shapes: [{half_space: {}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.0475]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
probes: [{name: p, position: {body: cube}}, {name: v, velocity: {body: cube}},
         {name: overlap, penetration: {}}]
)");
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(world.Step().ok());
  ASSERT_TRUE(HasOnlyNumbers(world));
  EXPECT_NEAR(ReadVector(world, "p").z(), 0.0475, 1e-3);
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-2);
  EXPECT_GE(Read(world, "overlap")[0], 0.0025 - 1e-6);  // half of 5 mm on each side
}

TEST(NonsmoothTrouble, AFailedStepLeavesTheStateUntouched) {
  for (const char* coordinates : {"REDUCED", "MAXIMAL"}) {
    World world = LoadWorld(Fill(R"(
time_step: 0.01
sleeping: false
method: {nonsmooth: {coordinates: $COORDINATES}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)",
                                 {{"$COORDINATES", coordinates}}));
    for (int step = 0; step < 3; ++step) ASSERT_TRUE(world.Step().ok());
    const std::string before = HashState(world.state());
    const auto stepper = MakeStepper(world.model());
    Inputs inputs;
    inputs.forces.push_back(
        {1, -1, true, Eigen::Vector3d::Zero(), {std::nan(""), 0, 0}, Eigen::Vector3d::Zero()});
    State state = world.state();
    StepReport report;
    const absl::Status status = stepper->Step(inputs, 0.01, &state, &report);
    ASSERT_FALSE(status.ok()) << coordinates;
    EXPECT_NE(status.ToString().find("cube"), std::string::npos) << status;
    EXPECT_EQ(HashState(state), before) << coordinates;
  }
}

}  // namespace
}  // namespace pliant::physics
