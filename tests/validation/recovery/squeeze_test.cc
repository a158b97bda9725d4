// Rigid bodies between others that give no way, and contacts that nothing can open.

#include <algorithm>
#include <fstream>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class Squeeze : public ::testing::TestWithParam<std::string> {
 protected:
  World Load(const std::string& yaml) {
    return LoadWorld(absl::StrCat(yaml, "method: {", GetParam(), ": {}}\n"));
  }
};

// A cube between two fingers, which scripts move.
constexpr char kFingers[] = R"(
name: fingers
time_step: 0.005
sleeping: false
contact: {friction: 0.6}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: left
    rigid: {motion: KINEMATIC, shapes: [{box: {size: [0.02, 0.1, 0.1]}}],
      pose: {position: [-0.07, 0, 0.05]}}
  - name: right
    rigid: {motion: KINEMATIC, shapes: [{box: {size: [0.02, 0.1, 0.1]}}],
      pose: {position: [0.07, 0, 0.05]}}
  - name: cube
    rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.1]}}],
      pose: {position: [0, 0, 0.05]}}
)";

// A script closes two fingers on a cube, each 5 mm farther than its side, and lifts them by 20 cm.
TEST_P(Squeeze, FingersThatCloseTooFarHoldAndLift) {
  World world = Load(std::string(kFingers) + R"(script:
  - {target: {pose: left}, times: [0, 0.2, 0.3, 0.8], values: [
      [-0.07, 0, 0.05], [-0.055, 0, 0.05], [-0.055, 0, 0.05], [-0.055, 0, 0.25]]}
  - {target: {pose: right}, times: [0, 0.2, 0.3, 0.8], values: [
      [0.07, 0, 0.05], [0.055, 0, 0.05], [0.055, 0, 0.05], [0.055, 0, 0.25]]}
probes:
  - {name: cube, position: {body: cube}}
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: force, contact_force: {body: left}}
)");
  double fastest = 0;
  while (world.state().time < 1) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
    fastest = std::max(fastest, Read(world, "kinetic").at(0));
  }
  // within the contact distance of the smooth method
  EXPECT_NEAR(ReadVector(world, "cube").z(), 0.25, 1e-3);
  EXPECT_LT(ReadVector(world, "cube").head<2>().norm(), 1e-3);
  // 1 kg at 0.4 m/s has 0.08 J
  EXPECT_LT(fastest, 0.1);
  // 5 mm in near-rigid contacts
  EXPECT_LT(ReadVector(world, "force").norm(), 1e6);
}

// Contacts of a cube that was squeezed are rigid again once the fingers have let it go.
TEST_P(Squeeze, FingersThatOpenLeaveNothingBehind) {
  World world = Load(std::string(kFingers) + R"(script:
  - {target: {pose: left}, times: [0, 0.2, 0.3, 0.35], values: [
      [-0.07, 0, 0.05], [-0.055, 0, 0.05], [-0.055, 0, 0.05], [-0.2, 0, 0.05]]}
  - {target: {pose: right}, times: [0, 0.2, 0.3, 0.35], values: [
      [0.07, 0, 0.05], [0.055, 0, 0.05], [0.055, 0, 0.05], [0.2, 0, 0.05]]}
)");
  RunUntil(0.4, &world);
  while (world.state().time < 0.5) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
    EXPECT_EQ(world.report().compromises[Compromise::kSoftened], 0) << world.state().step;
  }
}

// A turned cube and a ball move along a gap that is 4 cm too narrow for them.
TEST_P(Squeeze, AGapThatIsTooNarrowBrakesAndThrowsNothing) {
  World world = Load(R"(
name: gap
time_step: 0.005
sleeping: false
gravity: [0, 0, 0]
contact: {friction: 0.6}
bodies:
  - name: left
    rigid: {motion: FIXED, shapes: [{box: {size: [0.2, 2, 2]}}], pose: {position: [-0.18, 0, 0]}}
  - name: right
    rigid: {motion: FIXED, shapes: [{box: {size: [0.2, 2, 2]}}], pose: {position: [0.18, 0, 0]}}
  - name: cube
    rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.2, 0.2, 0.2]}}],
      pose: {rpy_degrees: [0, 0, 20]}, velocity: {linear: [0, 1, 0], angular: [3, 0, 0]}}
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.1}}],
      pose: {position: [0, 0.5, 0]}, velocity: {linear: [0, 1, 0]}}
probes:
  - {name: ball, position: {body: ball}}
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: force, contact_force: {body: left}}
)");
  const double start = Read(world, "kinetic").at(0);
  double last = start;
  while (world.state().time < 1) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
    const double kinetic = Read(world, "kinetic").at(0);
    // less than a twentieth returns from the contacts' compliance
    EXPECT_LT(kinetic, last + 0.05 * start) << "step " << world.state().step;
    last = kinetic;
  }
  EXPECT_LT(last, 0.01 * start);
  EXPECT_LT(std::abs(ReadVector(world, "ball").x()), 1e-3);
  // stiffer contacts are the smooth method's answer to a gap that closes
  if (GetParam() != "smooth") {
    EXPECT_LT(ReadVector(world, "force").norm(), 1e5);
  }
}

// A link turns about the normal of its overlap with a wall, so no impulse along it moves the link.
TEST_P(Squeeze, AnOverlapAlongTheAxisOfAHingeDoesNotHoldTheLink) {
  const std::string file = PathOfTest("hinge.urdf");
  std::ofstream(file) << R"(<robot name="hinge"><link name="base"/><link name="arm">
  <inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.003" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.1 0.1"/></geometry></collision>
  </link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  </joint></robot>)";
  World world = Load(Fill(R"(
name: hinge
time_step: 0.005
sleeping: false
gravity: [0, 0, 0]
contact: {friction: 0.6}
bodies:
  - name: wall
    rigid: {motion: FIXED, shapes: [{box: {size: [2, 2, 0.2]}}],
      pose: {position: [0.0342, 0.0866, 0.0814], rpy_degrees: [-40, 15, 10]}}
robots:
  - {name: hinge, file: $FILE, base: FIXED, pose: {rpy_degrees: [-40, 15, 10]},
     actuators: [{joint: turn, pd: {stiffness: 50, damping: 2}}]}
script:
  - {target: {joint: hinge/turn}, times: [0, 1], values: [0, 1]}
probes:
  - {name: arm, position: {body: hinge/arm, point: [1, 0, 0]}}
  - {name: base, position: {body: hinge/base, point: [1, 0, 0]}}
  - {name: force, contact_force: {body: wall}}
)",
                          {{"$FILE", file}}));
  while (world.state().time < 2) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
    ASSERT_LT(ReadVector(world, "force").norm(), 1e4) << "step " << world.state().step;
  }
  // contacts of `smooth` are springs, whose friction holds the link
  if (GetParam() != "smooth") {
    EXPECT_GT(world.report().compromises[Compromise::kImmovableDropped], 0);
    const double turned = std::acos(ReadVector(world, "arm").dot(ReadVector(world, "base")));
    EXPECT_NEAR(turned, 1, 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Squeeze,
                         ::testing::Values("convex", "corrective", "nonsmooth", "smooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
