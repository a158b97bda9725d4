// Steps that solve for all nodes of the grid, by Newton's method on the sparse H, equal steps that
// are reduced to the touched nodes by a dense Schur complement, which a cold start chooses.
// Contacts are springs without friction, since the compliance of near-rigid ones depends on the
// matrix at hand.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// Particles on the ground, under a rigid box, a driven link and a FEM body: more touched nodes than
// a dense complement pays for.
std::string Touched(const std::string& material) {
  return Fill(R"(
name: touched
time_step: 0.005
grid: {cell_size: 0.03}
contact: {friction: 0, stiffness: 1.0e4}
method: {convex: {beta: 1.0e-3, warm_start: $WARM, tolerance: 1.0e-11, relinearisations: 30}}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: dough
    particles:
      fill: {box: {size: [0.3, 0.12, 0.08]}}
      pose: {position: [0, 0, 0.0399]}
      material: $MATERIAL
  - name: box
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.11, 0, 0.0994]},
            velocity: {linear: [0.2, 0, 0]}, shapes: [{box: {size: [0.06, 0.1, 0.04]}}]}
  - name: fem
    deformable:
      mesh: {box: {size: [0.05, 0.05, 0.05]}, edge_length: 0.025}
      pose: {position: [0.11, 0.01, 0.1044]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 800}
robots:
  - name: panels
    file: $ROOT/scenes/robots/panels.urdf
    pose: {position: [0.031, 0, 0.1290]}
    joint_positions: {close_left: 0.15, close_right: -0.1}
    actuators:
      - {joint: "lift|close_.*", pd: {stiffness: 2.0e4, damping: 400, gravity_compensation: true}}
)",
              {{"$MATERIAL", material}, {"$ROOT", PLIANT_SOURCE_DIR}});
}

void ExpectSameSteps(const std::string& scene, int steps) {
  World whole = LoadWorld(Fill(scene, {{"$WARM", "true"}})),
        complement = LoadWorld(Fill(scene, {{"$WARM", "false"}}));
  for (int n = 0; n < steps; ++n) {
    ASSERT_TRUE(whole.Step().ok());
    ASSERT_TRUE(complement.Step().ok());
    ASSERT_LE(whole.report().residual, 1e-10) << n;
    ASSERT_LE(complement.report().residual, 1e-10) << n;
    EXPECT_GT(whole.report().contacts.size(), 40u);
    EXPECT_EQ(whole.report().participating, complement.report().participating);
    const auto &v = whole.state().v, &w = complement.state().v;
    ASSERT_EQ(v.size(), w.size());
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(v[i], w[i], 1e-10) << n << ", " << i;
  }
}

TEST(WholeNewton, GivesTheComplementsStepsOfAPlasticMaterial) {
  ExpectSameSteps(Touched("{model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.45, "
                          "yield_stress: 100, density: 1000}"),
                  2);
}

TEST(WholeNewton, GivesTheComplementsStepsOfALiquid) {
  ExpectSameSteps(Touched("{model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, viscosity: 1, "
                          "density: 1000}"),
                  2);
}

// A particle touches by 27 weights and one 3 × 3 matrix, and not by 27 matrices.
TEST(WholeNewton, RowsOfAParticlesContactTakeLessThan500Bytes) {
  World world = MakeWorld(LoadSceneFile(PLIANT_SOURCE_DIR "/scenes/close_lift_shake.yaml"));
  StepStages stages(world.model(), Terms::kFreeMotion);
  ASSERT_TRUE(PoseStep(world.CalcScriptedInputs(), ThetaMethod(0.01), world.state(), &stages).ok());
  const solvers::ConstraintSystem& system = stages.system;
  ASSERT_GT(system.contacts.size(), 1000u);
  std::size_t bytes = 0;
  for (const auto& contact : system.contacts)
    bytes += sizeof(solvers::ConstraintSystem::Entry) * contact.num_entries;
  bytes += sizeof(double) * system.values.size() + sizeof(int) * system.nodes.size();
  EXPECT_LE(bytes, 500 * system.contacts.size());
}

}  // namespace
}  // namespace pliant::physics
