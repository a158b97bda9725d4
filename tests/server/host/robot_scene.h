#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "physics/scene/scene.h"

namespace pliant::server {

// A gantry: three slides carry a hand with two jaws, so that each component of the hand's velocity
// is the rate of one slide. It also has a driven wheel, a motor, and a passive flag.
inline constexpr char kGantryUrdf[] = R"(<robot name="gantry">
  <material name="blue"><color rgba="0.1 0.2 0.9 0.5"/></material>
  <link name="rail">
    <inertial><mass value="5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
        </inertial>
    <visual><geometry><box size="1 0.05 0.05"/></geometry><material name="blue"/></visual>
  </link>
  <link name="carriage"><inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="bridge"><inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
        </inertial>
    <visual><geometry><sphere radius="0.03"/></geometry></visual>
    <collision><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <link name="left_jaw"><inertial><mass value="0.1"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right_jaw"><inertial><mass value="0.1"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="wheel"><inertial><mass value="0.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rotor"><inertial><mass value="0.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="flag"><inertial><mass value="0.1"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="500" velocity="0.4"/></joint>
  <joint name="y" type="prismatic"><parent link="carriage"/><child link="bridge"/>
      <axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.5" effort="500" velocity="0.4"/></joint>
  <joint name="z" type="prismatic"><parent link="bridge"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="-0.5" upper="0.5" effort="500" velocity="0.4"/></joint>
  <joint name="left" type="prismatic"><parent link="hand"/><child link="left_jaw"/>
      <axis xyz="1 0 0"/>
    <limit lower="0" upper="0.03" effort="30" velocity="0.1"/></joint>
  <joint name="right" type="prismatic"><parent link="hand"/><child link="right_jaw"/>
      <axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.03" effort="30" velocity="0.1"/></joint>
  <joint name="spin" type="continuous"><parent link="rail"/><child link="wheel"/><axis xyz="0 0 1"/>
    <limit effort="20" velocity="8"/></joint>
  <joint name="motor" type="continuous"><parent link="rail"/><child link="rotor"/>
      <axis xyz="0 0 1"/>
    <limit effort="2" velocity="50"/><dynamics damping="0.1"/></joint>
  <joint name="sway" type="revolute"><parent link="rail"/><child link="flag"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
)";

// Two gantries side by side with a paddle between them, without gravity and contact, so that all
// motion is that of the drives.
inline constexpr char kGantryScene[] = R"(name: gantries
time_step: 0.01
gravity: [0, 0, 0]
bodies:
  - name: paddle
    rigid: {motion: KINEMATIC, pose: {position: [0, 0, 1]},
        shapes: [{box: {size: [0.02, 0.2, 0.2]}}]}
robots:
)";
inline constexpr char kGantryRobot[] = R"(
    actuators:
      - {joint: "[xyz]", pd: {stiffness: 10000, damping: 1000}}
      - {joint: left, pd: {stiffness: 1000, damping: 50}}
      - {joint: right, pd: {stiffness: 1000, damping: 50}}
      - {joint: spin, velocity: {damping: 5}}
      - {joint: motor, torque: {}}
    controllers:
      - {name: tool, differential_ik: {link: hand}}
      - {name: jaws, gripper: {joints: [left, right], max_force: 20}}
)";

// The scene with `more` appended, and `of_robot` to each robot; the robot's file is in a folder
// that exists while it is read.
inline std::shared_ptr<const physics::Model> LoadGantryModel(const std::string& more = "",
                                                             const std::string& of_robot = "") {
  std::string folder = testing::TempDir() + "pliant-gantry-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) std::abort();
  const std::string file = folder + "/gantry.urdf";
  std::ofstream(file) << kGantryUrdf;
  std::string yaml = kGantryScene;
  for (const std::string head : {"  - name: left\n    pose: {position: [0, 1, 0.5]}",
                                 "  - name: right\n    pose: {position: [0, -1, 0.5]}"})
    yaml += head + "\n    file: " + file + kGantryRobot + of_robot;
  yaml += more;
  const physics::SceneResult result = physics::LoadSceneYaml(yaml, "gantries.yaml");
  std::filesystem::remove_all(folder);
  for (const physics::SceneMessage& message : result.messages)
    EXPECT_FALSE(message.error) << physics::Format(message);
  return result.model;
}

}  // namespace pliant::server
