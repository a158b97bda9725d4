#pragma once

#include <map>
#include <string>

#include "server/host/timeline.h"

namespace pliant::server {

// What its creator says about a world. Nothing of it affects the world's motion.
struct WorldSettings {
  std::map<std::string, std::string> labels;
  std::string owner;  // client that created it
  // A world that nobody uses for so long is deleted; max: never.
  SteadyTime::duration idle_timeout = SteadyTime::duration::max();
};

}  // namespace pliant::server
