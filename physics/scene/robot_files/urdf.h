#pragma once

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Reads a URDF <robot> as a draft, links sorted; errors and omissions go to `log`. Extensions with
// Drake's prefix are read. Other elements outside URDF (gazebo, sensors) are left out.
void ReadUrdf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log);

}  // namespace pliant::physics
