// Joints whose bodies start apart, or touch each other.

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

// Capsules on ball joints, whose ends touch each other there, fall over a bar. Contact between
// neighbours would act against their joint.
class Rope : public ::testing::TestWithParam<std::string> {};

TEST_P(Rope, FallsOverABar) {
  std::string bodies, joints = "constraints:\n";
  for (int i = 0; i < 8; ++i) {
    bodies += Fill(R"(
  - name: r$I
    rigid: {motion: FREE, density: 1000, shapes: [{capsule: {radius: 0.01, length: 0.06}}],
      pose: {position: [$X, 0, 0.6], rpy_degrees: [0, 90, 0]}})",
                   {{"$I", std::to_string(i)}, {"$X", Number(0.08 * i)}});
    if (i == 0) continue;
    joints += Fill("  - {name: j$I, ball: {a: r$LAST, b: r$I, point: [$X, 0, 0.6]}}\n",
                   {{"$I", std::to_string(i)},
                    {"$LAST", std::to_string(i - 1)},
                    {"$X", Number(0.08 * i - 0.04)}});
  }
  World world = LoadWorld(Fill(R"(
name: rope
time_step: 0.005
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0.6}
probes: [{name: kinetic, energy: {kind: KINETIC}}]
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: bar
    rigid: {motion: FIXED, shapes: [{cylinder: {radius: 0.05, length: 0.4}}],
      pose: {position: [0.2, 0, 0.4], rpy_degrees: [90, 0, 0]}}$BODIES
)",
                               {{"$METHOD", GetParam()}, {"$BODIES", bodies}}) +
                          joints);
  // it weighs 0.18 kg and falls by less than 0.6 m
  for (int step = 0; step < 200; ++step) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
    EXPECT_LT(Read(world, "kinetic").at(0), 1.1) << "step " << world.state().step;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Rope,
                         ::testing::Values("convex", "corrective", "nonsmooth", "smooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
