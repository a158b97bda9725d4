#pragma once

#include <optional>
#include <string>

#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// Replaces each <include file="…"/> by the contents of the file. Paths are relative to `folder`,
// that of the main file, or else to that of the including file.
//
// errors  a file that is not there, is included twice, or is no MJCF; too many
bool ExpandMjcfIncludes(RobotFiles* files, const std::string& folder, XmlElement* root,
                        RobotLog* log);

// A model that another one attaches.
struct MjcfSubmodel {
  XmlElement root;     // with its includes
  std::string folder;  // of its file
};

// Reads the model that a <model file="…"/> of the assets names, relative to `folder`.
//
// errors  as above
std::optional<MjcfSubmodel> ReadMjcfSubmodel(const XmlElement& model, RobotFiles* files,
                                             const std::string& folder, RobotLog* log);

}  // namespace pliant::physics
