#pragma once

#include <string>
#include <vector>

#include "physics/geometry/shape.h"
#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {

// A drive that holds a joint at its rest position.
struct ImportedDrive {
  std::string joint;
  double stiffness = 0;     // [N·m/rad] or [N/m]
  double damping = 0;       // [N·m·s/rad] or [N·s/m]
  double effort_limit = 0;  // in place of a limit of 0 in the file; else 0
};

// Drives of all joints with one velocity, except followers of couplers. Their stiffness
// and damping are those of a critically damped oscillator of a few hertz with the inertia that the
// joint moves, so that arms and fingers are held alike.
std::vector<ImportedDrive> ChooseDrives(const RobotDescription& robot);

// Links at the ends of the robot that at least two driven joints move: the last link of each
// branch, or the link to which several fingers with one joint are attached.
std::vector<std::string> FindTips(const RobotDescription& robot);

// Bounds of the shapes at the rest pose, in the robot file's world; planes are ignored.
AxisAlignedBox CalcRestBounds(const RobotDescription& robot);

// Whether the file has a floor of its own.
bool HasFloor(const RobotDescription& robot);

// Whether a link is attached to nothing, so that the scene chooses its base.
bool HasLooseBase(const RobotDescription& robot);

}  // namespace pliant::physics
