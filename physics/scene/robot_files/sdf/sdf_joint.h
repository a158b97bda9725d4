#pragma once

#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/xml_values.h"
#include "physics/scene/robot_files/sdf/frame_graph.h"

namespace pliant::physics {

// A joint of an SDF file while it is read: its element, scope and frame.
struct SdfJoint {
  const XmlElement* element;
  std::string scope;   // of the names in it
  std::string prefix;  // of its own name in the draft
  int frame;
};

// Reads joints, mimics, gears and actuators, given resolved frames. Joints between two links fixed
// to the world are left out.
void ReadSdfJoints(const std::vector<SdfJoint>& joints, FrameGraph* frames, RobotDraft* draft,
                   RobotLog* log);

}  // namespace pliant::physics
