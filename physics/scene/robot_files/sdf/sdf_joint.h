#pragma once

#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/xml_values.h"
#include "physics/scene/robot_files/sdf/frame_graph.h"

namespace pliant::physics {

// A joint of an SDF file on its way: where it stands, and the frame that it was given.
struct SdfJoint {
  const XmlElement* element;
  std::string scope;   // of the names in it
  std::string prefix;  // of its own name in the draft
  int frame;
};

// Joints, mimics, gears and actuators, from frames that are resolved. Joints between links that are
// both fixed on the world are left out.
void ReadSdfJoints(const std::vector<SdfJoint>& joints, FrameGraph* frames, RobotDraft* draft,
                   RobotLog* log);

}  // namespace pliant::physics
