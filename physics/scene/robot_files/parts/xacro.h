#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "physics/scene/robot_files/parts/xml_tree.h"
#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {

// Whether a file is to be expanded: it has elements of xacro, the macro language of ROS, and does
// not say that xacro has made it, which may leave calls of unknown macros in it.
bool IsXacro(const XmlElement& root, std::string_view text);

// Expands a file with the program `xacro`. Uploaded files are not expanded, because macros can read
// other files and run for any length of time.
//
// errors  PERMISSION_DENIED: files are limited to a folder; NOT_FOUND: the program is not
//         installed; INVALID_ARGUMENT: it failed, with the last of its messages. Each says how to
//         expand the file by hand.
absl::StatusOr<std::string> ExpandXacro(const std::string& path, const RobotFileOptions& options);

}  // namespace pliant::physics
