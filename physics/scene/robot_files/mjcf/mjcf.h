#pragma once

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// A <mujoco> file as a draft, links with parents first; errors and what was left out go to `log`.
// Bodies are links of their name; a body with several joints has links without mass before it,
// "body:joint". Bodies without joints are fixed on their parent, and static geoms of the world are
// on a fixed link "world". Free joints have names, their own or "body_joint": they are free
// whatever the scene's base says.
void ReadMjcf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log);

}  // namespace pliant::physics
