#pragma once

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Reads a <mujoco> file as a draft, links with parents first; errors and omissions go to `log`.
// Bodies become links of the same name; a body with several joints is preceded by massless links,
// "body:joint". Bodies without joints are fixed to their parent, and static geoms of the world are
// on a fixed link "world". Free joints keep their name or get "body_joint", and are free whatever
// base the scene sets.
void ReadMjcf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log);

}  // namespace pliant::physics
