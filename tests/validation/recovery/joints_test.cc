// A joint whose bodies start apart.

#include <algorithm>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class Recovery : public ::testing::TestWithParam<std::string> {};

// Two bodies are 5 cm farther from each other than their rod is long. They approach at the recovery
// speed and then come to rest.
TEST_P(Recovery, RodThatIsTooShortPullsAtTheRecoverySpeed) {
  World world = LoadWorld(Fill(R"(
name: rod
time_step: 0.005
gravity: [0, 0, 0]
sleeping: false
method: {$METHOD}
bodies:
  - {name: left, rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}]}}
  - {name: right, rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}],
      pose: {position: [0.25, 0, 0]}}}
constraints:
  - {name: rod, distance: {a: left, b: right, length: 0.2}}
probes:
  - {name: left, position: {body: left}}
  - {name: right, position: {body: right}}
  - {name: velocity, velocity: {body: left}}
)",
                               {{"$METHOD", GetParam()}}));
  const auto calc_error = [&] {
    return (ReadVector(world, "right") - ReadVector(world, "left")).norm() - 0.2;
  };
  double fastest = 0;
  while (world.state().time < 1.2) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged);
    fastest = std::max(fastest, ReadVector(world, "velocity").norm());
  }
  // each of two equal bodies has half of 0.1 m/s
  EXPECT_LT(fastest, 0.0501);
  EXPECT_GT(fastest, 0.02);
  EXPECT_NEAR(calc_error(), 0, 1e-4);
  EXPECT_LT(ReadVector(world, "velocity").norm(), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, Recovery,
                         ::testing::Values("convex: {}", "corrective: {}", "nonsmooth: {}",
                                           "nonsmooth: {coordinates: MAXIMAL}"),
                         [](const auto& info) {
                           return info.param.find("MAXIMAL") != std::string::npos
                                      ? "maximal"
                                      : info.param.substr(0, info.param.find(':'));
                         });

}  // namespace
}  // namespace pliant::physics
