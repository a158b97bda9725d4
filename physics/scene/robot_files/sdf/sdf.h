#pragma once

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Reads an <sdf> with one model, several, or a world as a draft, links sorted; errors and omissions
// go to `log`. Links of a single model keep their names; those of nested and further models are
// "model::link". Includes are read, as are Drake's tags, their prefix declared or not.
void ReadSdf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
             RobotMeshes* meshes, RobotDraft* draft, RobotLog* log);

}  // namespace pliant::physics
