#pragma once

#include <vector>

#include "physics/dynamics/model.h"
#include "pliant/v1/stream.pb.h"
#include "pliant/v1/world.pb.h"
#include "server/host/published.h"

namespace pliant::server {

// Messages that describe robots: their joints of one velocity, in the order of Model::robots.

void DescribeRobots(const physics::Model& model, v1::WorldDescription* description);

// Place of the position and velocity of a joint in the State; an activation has none, and block −1.
struct JointPlace {
  int block = -1;
  int position = 0;
  int velocity = 0;
};
std::vector<JointPlace> FindJoints(const physics::Model& model);

v1::JointFrame DescribeJoints(const physics::Snapshot& snapshot);

}  // namespace pliant::server
