// The shipped robot files are valid, load without messages, and have no overlaps at rest.

#include <algorithm>
#include <filesystem>

#include "physics/scene/robot_files/robot_description.h"
#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

std::vector<std::string> RobotFilesThatShip() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLIANT_SOURCE_DIR "/scenes/robots")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ShippedRobots, AreReadWithoutAWord) {
  std::vector<std::string> formats;
  for (const std::string& path : RobotFilesThatShip()) {
    const RobotFileResult result = ReadRobotFile(path);
    for (const RobotFileMessage& message : result.messages)
      ADD_FAILURE() << path << ":" << message.line << ": " << message.text;
    ASSERT_TRUE(result.robot.has_value()) << path;
    formats.push_back(result.robot->format);
  }
  for (const char* format : {"URDF", "SDF", "MJCF"}) {
    EXPECT_NE(std::find(formats.begin(), formats.end(), format), formats.end()) << format;
  }
}

TEST(ShippedRobots, SayWhatTheirJointsBear) {
  for (const std::string& path : RobotFilesThatShip()) {
    const RobotFileResult result = ReadRobotFile(path);
    ASSERT_TRUE(result.robot.has_value()) << path;
    for (const RobotLink& link : result.robot->links) {
      const Joint& joint = link.joint;
      if (CountVelocities(joint.type) != 1) continue;
      // MJCF has no velocity limits, and effort limits only in its actuators
      if (result.robot->format == "MJCF") {
        EXPECT_GT(joint.damping, 0) << path << " " << joint.name;
        continue;
      }
      EXPECT_TRUE(std::isfinite(joint.effort_limit)) << path << " " << joint.name;
      EXPECT_TRUE(std::isfinite(joint.velocity_limit)) << path << " " << joint.name;
      EXPECT_GT(joint.effort_limit, 0) << path << " " << joint.name;
    }
  }
}

TEST(ShippedRobots, HaveNoLinksThatOverlapAtRest) {
  for (const std::string& path : RobotFilesThatShip()) {
    const World world = LoadWorld(Fill(R"(
name: at rest
bodies: [{name: ground, rigid: {motion: FIXED, pose: {position: [0, 0, -9]},
    shapes: [{half_space: {}}]}}]
robots: [{name: robot, file: $FILE, base: FREE}]
probes: [{name: penetration, penetration: {}}]
)",
                                       {{"$FILE", path}}));
    // fingers touch their hand, and gripper pads each other
    EXPECT_LT(ReadNumber(world, "penetration"), 1e-6) << path;
  }
}

TEST(ShippedRobots, AreJoinedAsTheyStandAlone) {
  const auto mass_and_joints = [](const std::string& name) {
    const RobotFileResult result =
        ReadRobotFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/robots/", name, ".urdf"));
    double mass = 0, joints = 0;
    for (const RobotLink& link : result.robot->links) {
      mass += link.mass;
      joints += CountVelocities(link.joint.type) == 1;
    }
    return std::pair(mass, joints);
  };
  const auto [arm, arm_joints] = mass_and_joints("iiwa14");
  for (const auto& [hand, both] :
       {std::pair("allegro_right", "iiwa_allegro"), std::pair("wsg50", "iiwa_wsg")}) {
    const auto [own, own_joints] = mass_and_joints(hand);
    const auto [sum, sum_joints] = mass_and_joints(both);
    EXPECT_NEAR(sum, arm + own, 1e-12) << both;
    EXPECT_EQ(sum_joints, arm_joints + own_joints) << both;
  }
}

}  // namespace
}  // namespace pliant::physics
