// The same cube by convex, corrective and nonsmooth with their default budgets; docs/methods.md has
// the table of results.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kCubeFriction = 0.5, kCubeStep = 0.005;

World LoadCube(bool is_soft, const std::string& method) {
  const char* cube =
      is_soft ? "deformable: {mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}, material: "
                "{model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: "
                "1000}, "
              : "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.1]}}], ";
  return LoadWorld(absl::StrCat(
      "time_step: ", kCubeStep, "\nsleeping: false\nmethod: {", method,
      ": {}}\ncontact: {friction: ", kCubeFriction,
      "}\nbodies:\n  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n  - "
      "{name: cube, ",
      cube, "pose: {position: [0, 0, 0.05]}}}\nprobes:\n  - {name: p, position: {body: cube}}\n"));
}

double SumNormalForce(const World& world) {
  double force = 0;
  for (const ContactForce& contact : world.report().contacts) force += contact.impulse_W.z();
  return std::abs(force) / kCubeStep;
}

class MethodsOnACube : public ::testing::TestWithParam<std::tuple<bool, const char*>> {};

TEST_P(MethodsOnACube, RestsSteadilyAndBreaksAwayWhereCoulombSays) {
  const auto& [is_soft, method] = GetParam();
  World world = LoadCube(is_soft, method);
  // the corrective method may exceed its sweeps at the first impact
  while (world.state().time < 2) ASSERT_TRUE(world.Step().ok());
  double least = 1e300, most = 0;
  while (world.state().time < 2.5) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged);
    least = std::min(least, SumNormalForce(world));
    most = std::max(most, SumNormalForce(world));
  }
  EXPECT_NEAR(0.5 * (least + most), kGravity, 0.01 * kGravity);
  EXPECT_LE(most - least, 1e-3 * kGravity);

  // increase the push slowly; the delay in detecting slip is well below one per cent
  const double limit = kCubeFriction * kGravity, from = ReadVector(world, "p").x();
  Inputs inputs;
  inputs.forces.resize(1);
  inputs.forces[0].body = FindBody(world.model(), "cube");
  double push = 0.97 * limit;
  // a soft cube leans by a tenth of a millimetre before it slides
  const double slack = is_soft ? 1.5e-4 : 2e-5;
  while (ReadVector(world, "p").x() - from < slack && push < 1.03 * limit) {
    push += 0.2 * kCubeStep;
    inputs.forces[0].force_W.x() = push;
    ASSERT_TRUE(world.Step(inputs).ok());
  }
  EXPECT_NEAR(push, limit, 0.01 * limit);
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodsOnACube,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values("convex", "corrective", "nonsmooth")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "Soft_" : "Rigid_") +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace pliant::physics
