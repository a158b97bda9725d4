// Scenes that break weaker solvers: every step still converges and forces balance.

#include <algorithm>
#include <fstream>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

std::string Soft(const std::string& name, double z, double youngs_modulus, double density,
                 const std::string& edge_length = "0.05") {
  return Fill(R"(
  - name: $NAME
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: $EDGE}
      pose: {position: [0, 0, $Z]}
      material: {youngs_modulus: $E, poissons_ratio: 0.3, density: $RHO}
)",
              {{"$NAME", name},
               {"$EDGE", edge_length},
               {"$Z", Number(z)},
               {"$E", Number(youngs_modulus)},
               {"$RHO", Number(density)}});
}

std::string OnAFloor(const std::string& bodies) {
  return R"(
time_step: 0.005
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)" + bodies +
         R"(
probes: [{name: weight, contact_force: {body: floor}}]
)";
}

TEST(Trouble, StiffnessRatioOfAHundredMillion) {
  // as jelly and diamond: 1e4 Pa below 1e12 Pa, and above it
  for (const bool jelly_below : {true, false}) {
    World world = LoadWorld(OnAFloor(Soft("lower", 0.05, jelly_below ? 1e4 : 1e12, 1000) +
                                     Soft("upper", 0.15, jelly_below ? 1e12 : 1e4, 1000)));
    RunUntil(3, &world);
    EXPECT_NEAR(Read(world, "weight")[2], -2 * kGravity, 1e-3 * kGravity);
  }
}

TEST(Trouble, MassRatioOfAMillion) {
  const std::string tonne =
      "  - {name: tonne, rigid: {motion: FREE, mass: 1000, pose: {position: [0, 0, 0.15]}, shapes: "
      "[{box: {size: [0.1, 0.1, 0.1]}}]}}\n";
  const std::string gram =
      "  - {name: gram, rigid: {motion: FREE, mass: 0.001, pose: {position: [0, 0, 0.05]}, shapes: "
      "[{box: {size: [0.1, 0.1, 0.1]}}]}}\n";
  // A tonne on a gram, rigid and soft. Contact is as stiff as the conditioning of the lighter body
  // allows, which requires a small β: (β/2π)² g h² = 6e-8 m per multiple of its own weight.
  for (const std::string& below : {gram, Soft("gram", 0.05, 1e8, 1)}) {
    World world = LoadWorld("method: {convex: {beta: 0.01}}\n" + OnAFloor(below + tonne));
    RunUntil(1, &world);
    EXPECT_NEAR(Read(world, "weight")[2], -1000 * kGravity, kGravity);
    const Vector3d p = CalcBodyPose(world.model(), world.state(), 2).p;
    EXPECT_NEAR(p.z(), 0.15, 0.003);  // the soft one yields by a per cent under a megapascal
    EXPECT_NEAR(p.head<2>().norm(), 0, 1e-3);
  }
  // a gram on a tonne needs no small β
  World world =
      LoadWorld(OnAFloor(Fill(gram, {{"0.05]", "0.15]"}}) + Fill(tonne, {{"0.15]", "0.05]"}})));
  RunUntil(1, &world);
  EXPECT_NEAR(Read(world, "weight")[2], -1000.001 * kGravity, 1e-3);
  EXPECT_NEAR(CalcBodyPose(world.model(), world.state(), 1).p.z(), 0.15,
              3e-5);  // two near-rigid gaps
}

TEST(Trouble, ABallTurnedInsideOutByABlowIsWholeAgainSoon) {
  // the plate moves through more than half of the ball in the step of impact
  for (const double mass : {5, 50}) {
    World world = LoadWorld(Fill(R"(
time_step: 0.01
bodies:
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [0, 0, 0.06]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
      damping: {beta: 0.005}
  - name: plate
    rigid: {motion: FREE, mass: $MASS, pose: {position: [0.01, 0.005, 0.2]},
        velocity: {linear: [0, 0, -80]}, shapes: [{box: {size: [0.2, 0.2, 0.02]}}]}
)",
                                 {{"$MASS", Number(mass)}}));
    const ElementSet& ball = *world.model().abilities_of(world.model().bodies[0]).elements;
    std::vector<double> ratios(ball.num_elements());
    int inverted_steps = 0;
    for (int k = 0; k < 100; ++k) {
      RunUntil(0.01 * (k + 1), &world);
      ball.CalcElementField(FieldMeasure::kVolumeRatio,
                            world.model().StateOf(world.state(), world.model().bodies[0].block),
                            ratios);
      const double least = *std::min_element(ratios.begin(), ratios.end());
      inverted_steps += least < 0;
      if (k < 50) continue;
      ASSERT_GT(least, 0.5) << mass << " kg, step " << k;
    }
    EXPECT_GT(inverted_steps, 0) << mass;
  }
}

TEST(Trouble, PartsOfOneMeshThatNothingJoins) {
  // two tetrahedra a metre apart, in one body
  const std::string file = PathOfTest("parts.vtk");
  std::ofstream(file) << R"(# vtk DataFile Version 3.0
parts
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 8 double
0 0 0.1  0.1 0 0.1  0 0.1 0.1  0 0 0.2  1 0 0.3  1.1 0 0.3  1 0.1 0.3  1 0 0.4
CELLS 2 10
4 0 1 2 3
4 4 5 6 7
CELL_TYPES 2
10 10
)";
  World world = LoadWorld(OnAFloor(Fill(R"(
  - name: pair
    deformable:
      mesh: {file: "$FILE"}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
)",
                                        {{"$FILE", file}})));
  RunUntil(3, &world);
  EXPECT_NEAR(Read(world, "weight")[2], -2 * 1000 * 1e-3 / 6 * kGravity, 1e-5);
}

TEST(Trouble, ThousandsOfRedundantContacts) {
  // 1089 vertices on the floor, where four would suffice
  World world = LoadWorld(OnAFloor(R"(
  - name: mat
    deformable:
      mesh: {box: {size: [0.8, 0.8, 0.05]}, edge_length: 0.025}
      pose: {position: [0, 0, 0.025]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
)"));
  RunUntil(0.015, &world);
  EXPECT_EQ(world.report().contacts.size(), 1089u);
  // the floor carries more than half of the weight from the first steps on
  EXPECT_LT(Read(world, "weight")[2], -0.5 * 32 * kGravity);
}

}  // namespace
}  // namespace pliant::physics
