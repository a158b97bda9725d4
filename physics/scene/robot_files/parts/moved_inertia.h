#pragma once

#include <vector>

#include "physics/scene/robot_files/parts/robot_draft.h"

namespace pliant::physics {

// Mends joints that have nothing to move, at the initial positions, with a warning for each link
// that is changed. Links of which none that a joint moves has mass get that of their shapes, at
// `density` [kg/m³]. A link whose joint could then still move without moving any mass, alone or
// together with the joints of the links that it carries, gets the inertia of its shapes or of a
// small ball. A root that is attached to nothing is left as it is, as its base may become fixed.
// `moving`: see FindMovingLinks.
void CompleteMovedInertia(double density, const std::vector<bool>& moving, RobotDraft* draft,
                          RobotLog* log);

}  // namespace pliant::physics
