#pragma once

#include "physics/dynamics/model.h"

namespace pliant::server {

// Whether a joint of one velocity slides (its position is in metres) or turns (radians).
bool IsPrismatic(const physics::Robot& robot, const physics::RobotJoint& joint);

}  // namespace pliant::server
