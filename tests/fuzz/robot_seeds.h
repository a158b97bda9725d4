#pragma once

#include <string>
#include <vector>

namespace pliant::fuzz {

// Small robots that use much of URDF, SDF and MJCF, and refer to no other files.
std::vector<std::string> MakeRobots();

}  // namespace pliant::fuzz
