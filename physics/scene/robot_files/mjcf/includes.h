#pragma once

#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Puts the contents of included files in place of each <include file="…"/>. Paths begin in the main
// file's folder, or else in that of the file they stand in.
//
// errors  a file that is not there, is included twice, or is no MJCF; too many
bool ExpandMjcfIncludes(RobotFiles* files, XmlElement* root, RobotLog* log);

}  // namespace pliant::physics
