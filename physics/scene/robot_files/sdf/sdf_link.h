#pragma once

#include <string>

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xml_values.h"

namespace pliant::physics {

// A <pose>: x y z, then roll pitch yaw or a quaternion x y z w. An absent or empty one is the
// identity.
RigidTransform ReadSdfPose(const XmlElement& parent, RobotLog* log);

// Reads a <link> except its pose: inertia, shapes and their surfaces.
void ReadSdfLink(const XmlElement& element, const std::string& folder, bool fixed,
                 const RobotFileOptions& options, RobotMeshes* meshes, RobotLink* link,
                 RobotLog* log);

// A <link> with <drake:deformable_properties>: its one collision is the body.
bool ReadSdfDeformable(const XmlElement& element, const std::string& folder, RobotMeshes* meshes,
                       RobotDeformable* body, RobotLog* log);

}  // namespace pliant::physics
