// Anchored friction: sticking contacts do not creep, and slide at the same load as without anchors.

#include <filesystem>
#include <fstream>

#include "tests/validation/friction/friction_scenes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kFriction = 0.5;
// creep that rounding and the tolerance of a step allow
constexpr double kStill = 1e-9;  // [m/s]

// Largest speed of the probe over half a second [m/s].
double MeasureSpeed(const std::string& probe, World* world) {
  double largest = 0;
  const double end = world->state().time + 0.5;
  while (world->state().time < end) {
    EXPECT_TRUE(world->Step().ok());
    EXPECT_TRUE(world->report().converged);
    largest = std::max(largest, ReadVector(*world, probe).norm());
  }
  return largest;
}

std::string SlopeScene(bool soft, bool anchored, double h) {
  return Fill(absl::StrCat(R"(
name: cube at 80 % of the friction angle
time_step: $H
contact: {friction: 0.5, anchored: $ANCHORED}
bodies:)",
                           CubeOnSlope(soft, 0.8 * CalcAtan2(kFriction, 1)), R"(
probes:
  - {name: v, velocity: {body: cube}}
)"),
              {{"$H", Number(h)}, {"$ANCHORED", anchored ? "true" : "false"}});
}

class AnchoredFriction : public ::testing::TestWithParam<double> {};  // h
INSTANTIATE_TEST_SUITE_P(Step, AnchoredFriction, ::testing::Values(0.001, 0.005, 0.01));

TEST_P(AnchoredFriction, RigidAndSoftCubesStandStillAt80PercentOfTheFrictionAngle) {
  for (const bool soft : {false, true}) {
    World world = LoadWorld(SlopeScene(soft, true, GetParam()));
    RunUntil(4, &world);
    EXPECT_LT(MeasureSpeed("v", &world), kStill) << (soft ? "soft" : "rigid");
  }
}

TEST_P(AnchoredFriction, WithoutItTheRigidCubeCreepsAsTheFormulaSays) {
  World world = LoadWorld(SlopeScene(false, false, GetParam()));
  RunUntil(4, &world);
  const double angle = 0.8 * CalcAtan2(kFriction, 1);
  const Hold hold = StepAndCalcHold(Downhill(angle), kFriction, &world);
  const double creep =
      (kGravity * GetParam() * std::sin(angle) - hold.yield_impulse) / hold.stick_resistance;
  EXPECT_NEAR(ReadVector(world, "v").dot(Downhill(angle)), creep, 0.02 * creep);
  EXPECT_GT(creep, 1e3 * kStill);
}

// Distance that a cube on the ground moves under a horizontal push of two seconds [m].
double MeasurePushedDistance(double push, bool anchored, double h) {
  World world = LoadWorld(
      Fill(R"(
name: pushed cube
time_step: $H
contact: {friction: 0.5, anchored: $ANCHORED}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
        shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
script:
  # at the height of the ground, so that the corners stay evenly loaded
  - {target: {force: cube, point: [0, 0, -0.05]}, times: [1, 3], values: [[$F, 0, 0], [$F, 0, 0]]}
probes: [{name: p, position: {body: cube}}]
)",
           {{"$H", Number(h)}, {"$F", Number(push)}, {"$ANCHORED", anchored ? "true" : "false"}}));
  RunUntil(1, &world);
  const double start = ReadVector(world, "p").x();
  RunUntil(3, &world);
  return ReadVector(world, "p").x() - start;
}

TEST_P(AnchoredFriction, BreaksAwayAtTheSameLoadAsWithout) {
  const double limit = kFriction * 1 * kGravity;
  // 0.1 % above the limit, 0.0049 m/s² for two seconds give 9.8 mm, less the delay of a step
  const double slid = 0.5 * 1e-3 * kFriction * kGravity * 4;
  for (const bool anchored : {false, true}) {
    EXPECT_NEAR(MeasurePushedDistance(1.001 * limit, anchored, GetParam()), slid, 0.05 * slid);
    const double held = MeasurePushedDistance(0.999 * limit, anchored, GetParam());
    // anchors are springs of the contacts' stiffness; without them it creeps at σ w h F for 2 s
    EXPECT_LT(held, anchored ? 1e-6 : 2.5e-4);
  }
}

TEST_P(AnchoredFriction, StopsASlidingBlockWithinOnePercent) {
  for (const bool anchored : {false, true}) {
    World world = LoadSlidingBlock({1, 0, 0}, anchored, GetParam());
    RunUntil(1, &world);
    const double distance = 1 / (2 * kFriction * kGravity);
    // the last of the speed is lost in a whole step: an error of about μ g h / v of the distance
    EXPECT_NEAR(ReadVector(world, "p").x(), distance,
                (0.005 + kFriction * kGravity * GetParam()) * distance);
  }
}

constexpr char kJaws[] = R"(<robot name="jaws">
  <link name="palm"/>
  <link name="left">
    <inertial><mass value="0.2"/>
        <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.04 0.04"/></geometry></collision>
  </link>
  <link name="right">
    <inertial><mass value="0.2"/>
        <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.04 0.04"/></geometry></collision>
  </link>
  <joint name="left_jaw" type="prismatic">
    <parent link="palm"/><child link="left"/><origin xyz="-0.03 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.05" upper="0.05" effort="100" velocity="1"/>
  </joint>
  <joint name="right_jaw" type="prismatic">
    <parent link="palm"/><child link="right"/><origin xyz="0.03 0 0"/><axis xyz="-1 0 0"/>
    <limit lower="-0.05" upper="0.05" effort="100" velocity="1"/>
  </joint>
</robot>)";

TEST_P(AnchoredFriction, AGraspedCapsuleHangsStill) {
  const std::string folder = PathOfTest("grasp");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/jaws.urdf") << kJaws;
  for (const double force : {12.0, 30.0, 60.0}) {
    const std::string yaml = Fill(
        R"(
name: grasp
time_step: $H
contact: {friction: 0.7}
bodies:
  - name: capsule
    rigid: {motion: FREE, mass: 0.045, pose: {rpy_degrees: [90, 0, 0]},
        shapes: [{capsule: {radius: 0.018, length: 0.06}}]}
robots:
  - {name: gripper, file: jaws.urdf, controllers: [{name: grip, gripper: {joints: [".*_jaw"],
      max_force: $F}}]}
script: [{target: {gripper: gripper/grip}, times: [0], values: [0.03]}]
probes:
  - {name: v, velocity: {body: capsule}}
  - {name: squeeze, contact_force: {body: capsule, with: gripper/left}}
)",
        {{"$H", Number(GetParam())}, {"$F", Number(force)}});
    const std::string file = folder + "/grasp.yaml";
    std::ofstream(file) << yaml;
    const SceneResult result = LoadSceneFile(file);
    for (const SceneMessage& message : result.messages) ADD_FAILURE() << Format(message);
    ASSERT_TRUE(result.ok());
    World world(result.model);
    RunUntil(2, &world);
    EXPECT_LT(MeasureSpeed("v", &world), kStill) << force << " N";
    EXPECT_NEAR(ReadVector(world, "squeeze").x(), force, 1e-6 * force);
    EXPECT_NEAR(ReadVector(world, "squeeze").z(), 0.5 * 0.045 * kGravity, 1e-4);
  }
}

}  // namespace
}  // namespace pliant::physics
