#pragma once

#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Replaces each <include file="…"/> by the contents of the file. Paths are relative to the main
// file's folder, or else to that of the including file.
//
// errors  a file that is not there, is included twice, or is no MJCF; too many
bool ExpandMjcfIncludes(RobotFiles* files, XmlElement* root, RobotLog* log);

}  // namespace pliant::physics
