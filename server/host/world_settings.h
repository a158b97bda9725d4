#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/host/timeline.h"

namespace pliant::v1 {
class CreateWorldRequest;
}

namespace pliant::server {

// What its creator says about a world. Nothing of it affects the world's motion.
struct WorldSettings {
  std::map<std::string, std::string> labels;
  std::string owner;  // client that created it
  // From which its model can be built again; null if it was not created on request.
  std::shared_ptr<const v1::CreateWorldRequest> source;
  bool durable = false;  // it survives the server
  // A world that nobody uses for so long is deleted; max: never.
  SteadyTime::duration idle_timeout = SteadyTime::duration::max();
};

}  // namespace pliant::server
